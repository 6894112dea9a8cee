#include "stages/build/streams/record_chains.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

using CanFollow = FunctionRef<bool(uint32_t, uint32_t)>;

// Lets each record follow an earlier one of its stream, or else one of a stream without later
// records, the latest that it can: so no stream whose records all follow each other needs a second
// chain. Returns, by record, the one before it in its chain.
class StreamChains {
 public:
  StreamChains(std::span<const uint32_t> streams, CanFollow can_follow)
      : streams_(streams), can_follow_(can_follow), before_(streams.size(), kNone) {
    for (const uint32_t stream : streams) {
      if (stream >= left_.size()) left_.resize(stream + 1, 0);
      ++left_[stream];
    }
    ends_.resize(left_.size());
  }

  std::vector<uint32_t> find() {
    for (uint32_t record = 0; record < streams_.size(); ++record) {
      std::vector<uint32_t>& own = ends_[streams_[record]];
      before_[record] = take(own, record);
      if (before_[record] == kNone) before_[record] = take(free_, record);
      own.push_back(record);
      if (--left_[streams_[record]] > 0) continue;
      free_.insert(free_.end(), own.begin(), own.end());
      own.clear();
    }
    return std::move(before_);
  }

 private:
  // Takes the latest of these ends that the record can follow; kNone: there is none.
  uint32_t take(std::vector<uint32_t>& ends, uint32_t record) const {
    const auto found = std::find_if(ends.rbegin(), ends.rend(),
                                    [&](uint32_t end) { return can_follow_(end, record); });
    if (found == ends.rend()) return kNone;
    const uint32_t end = *found;
    ends.erase(std::next(found).base());
    return end;
  }

  std::span<const uint32_t> streams_;
  CanFollow can_follow_;
  std::vector<uint32_t> before_;
  std::vector<uint32_t> left_;               // by stream: records to come
  std::vector<std::vector<uint32_t>> ends_;  // by stream with records to come
  std::vector<uint32_t> free_;               // ends of the other streams
};

// Grows the matching by augmenting paths (H. W. Kuhn, "The Hungarian method for the assignment
// problem", 1955): a record takes one before it from another, if that one finds a third.
class Matching {
 public:
  Matching(std::vector<uint32_t> before, CanFollow can_follow)
      : before_(std::move(before)),
        can_follow_(can_follow),
        after_(before_.size(), kNone),
        is_taken_(before_.size(), false) {
    for (uint32_t record = 0; record < before_.size(); ++record)
      if (before_[record] != kNone) after_[before_[record]] = record;
  }

  std::vector<uint32_t> grow() {
    for (uint32_t record = 0; record < before_.size(); ++record)
      if (before_[record] == kNone) find_path(record);
    return std::move(before_);
  }

 private:
  // Searches breadth first for records that want to follow one, or have to give up theirs. What a
  // search without success has reached no later one needs to look at.
  void find_path(uint32_t first) {
    std::vector<uint32_t> wanted_by(before_.size(), kNone);  // by record that can be followed
    std::vector<uint32_t> takers = {first};
    for (size_t i = 0; i < takers.size(); ++i) {
      for (uint32_t each = 0; each < takers[i]; ++each) {
        const bool is_known = is_taken_[each] || wanted_by[each] != kNone;
        if (is_known || !can_follow_(each, takers[i])) continue;
        wanted_by[each] = takers[i];
        if (after_[each] == kNone) return take(each, wanted_by);
        takers.push_back(after_[each]);
      }
    }
    for (uint32_t each = 0; each < wanted_by.size(); ++each)
      if (wanted_by[each] != kNone) is_taken_[each] = true;
  }

  // Gives each record of the path the one that it wanted, and what it had to the next.
  void take(uint32_t free, const std::vector<uint32_t>& wanted_by) {
    while (free != kNone) {
      const uint32_t taker = wanted_by[free];
      after_[free] = taker;
      free = std::exchange(before_[taker], free);
    }
  }

  std::vector<uint32_t> before_;
  CanFollow can_follow_;
  std::vector<uint32_t> after_;  // by record: the one that follows it
  std::vector<bool> is_taken_;   // by record: no search can let another one follow it
};

}  // namespace

std::vector<uint32_t> record_chains(std::span<const uint32_t> streams, CanFollow can_follow) {
  const size_t records = streams.size();
  std::vector<uint32_t> before = StreamChains(streams, can_follow).find();
  if (records <= kMaxMatched) before = Matching(std::move(before), can_follow).grow();
  std::vector<uint32_t> chains(records);
  uint32_t count = 0;
  for (uint32_t record = 0; record < records; ++record)
    chains[record] = before[record] == kNone ? count++ : chains[before[record]];
  return chains;
}

}  // namespace sluice
