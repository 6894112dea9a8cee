#include "stages/build/streams/record_chains.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

using CanFollow = FunctionRef<bool(uint32_t, uint32_t)>;

// Lets each record follow the last one of the chain that ended last among those it can follow.
// Returns, by record, the one before it in its chain.
std::vector<uint32_t> follow_latest(size_t records, CanFollow can_follow) {
  std::vector<uint32_t> before(records, kNone);
  std::vector<uint32_t> ends;  // of the chains, ascending
  for (uint32_t record = 0; record < records; ++record) {
    const auto found = std::find_if(ends.rbegin(), ends.rend(),
                                    [&](uint32_t end) { return can_follow(end, record); });
    if (found != ends.rend()) {
      before[record] = *found;
      ends.erase(std::next(found).base());
    }
    ends.push_back(record);
  }
  return before;
}

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

std::vector<uint32_t> record_chains(size_t records, CanFollow can_follow) {
  std::vector<uint32_t> before = follow_latest(records, can_follow);
  if (records <= kMaxMatched) before = Matching(std::move(before), can_follow).grow();
  std::vector<uint32_t> chains(records);
  uint32_t count = 0;
  for (uint32_t record = 0; record < records; ++record)
    chains[record] = before[record] == kNone ? count++ : chains[before[record]];
  return chains;
}

}  // namespace sluice
