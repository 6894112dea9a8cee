#include "stages/build/memory/planners/capacity_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr uint64_t kTasksOfVisit = 256;
constexpr size_t kFailedStates = size_t{1} << 16;  // half a megabyte

// Returns a number whose bits all depend on all bits of this one (S. Vigna, "SplitMix64").
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

CapacitySearch::CapacitySearch(const std::vector<Buffer>& buffers)
    : buffers_(buffers), overlapping_(buffers.size()), twins_(buffers.size(), -1) {
  std::map<std::tuple<int64_t, int64_t, uint64_t>, int64_t> earlier;
  int64_t tasks = 0;
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    tasks = std::max(tasks, buffer.last + 1);
    const auto [found, is_new] =
        earlier.try_emplace(std::tuple(buffer.first, buffer.last, buffer.bytes), i);
    if (!is_new) twins_[i] = std::exchange(found->second, i);
    for (uint32_t j = 0; j < i; ++j) {
      if (!live_together(buffer, buffers_[j])) continue;
      overlapping_[i].push_back(j);
      overlapping_[j].push_back(i);
    }
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto life = static_cast<uint64_t>(buffers_[i].last - buffers_[i].first);
    visits_of_.push_back(1 + (life + overlapping_[i].size()) / kTasksOfVisit);
  }
  floors_.resize(static_cast<size_t>(tasks));
  totals_.resize(static_cast<size_t>(tasks));
}

CapacitySearch::Outcome CapacitySearch::run(uint64_t capacity, uint64_t limit) {
  if (capacity != capacity_) failed_.assign(kFailedStates, 0);
  capacity_ = capacity;
  limit_ = limit;
  visits_ = 0;
  offsets_.assign(buffers_.size(), 0);
  is_placed_.assign(buffers_.size(), false);
  placed_.clear();
  raised_.clear();
  Ids all(buffers_.size());
  std::iota(all.begin(), all.end(), 0u);
  std::stable_sort(all.begin(), all.end(),
                   [&](uint32_t a, uint32_t b) { return buffers_[a].first < buffers_[b].first; });
  return place_groups(all, {});
}

// Returns whether the buffer's lowest offset comes before the last one in the order, so that it is
// not placed before another one raises it.
bool CapacitySearch::must_wait(uint32_t id, const Last& last) const {
  return offsets_[id] < last.offset || (offsets_[id] == last.offset && id < last.id);
}

// Returns the lowest offset that the buffer can have in the end; UINT64_MAX when it waits in vain.
uint64_t CapacitySearch::lowest_offset(uint32_t id, const Last& last) const {
  if (!must_wait(id, last)) return offsets_[id];
  uint64_t lowest = UINT64_MAX;
  for (const uint32_t other : overlapping_[id]) {
    if (is_placed_[other]) continue;
    lowest = std::min(lowest, std::max(offsets_[other], last.offset) + buffers_[other].bytes);
  }
  return lowest;
}

bool CapacitySearch::may_fit(const Ids& ids, const Last& last) {
  int64_t begin = INT64_MAX, end = 0;
  for (const uint32_t id : ids) {
    begin = std::min(begin, buffers_[id].first);
    end = std::max(end, buffers_[id].last + 1);
  }
  std::fill(floors_.begin() + begin, floors_.begin() + end, UINT64_MAX);
  std::fill(totals_.begin() + begin, totals_.begin() + end, 0);
  for (const uint32_t id : ids) {
    const Buffer& buffer = buffers_[id];
    const uint64_t lowest = lowest_offset(id, last);
    if (lowest > capacity_ || buffer.bytes > capacity_ - lowest) return false;
    for (auto task = static_cast<size_t>(buffer.first); task <= static_cast<size_t>(buffer.last);
         ++task) {
      floors_[task] = std::min(floors_[task], lowest);
      totals_[task] += buffer.bytes;
      if (totals_[task] > capacity_ - floors_[task]) return false;
    }
  }
  return true;
}

// Returns the buffers that may come next, the lowest first.
std::vector<uint32_t> CapacitySearch::candidates(const Ids& ids, const Last& last) const {
  uint64_t end = UINT64_MAX;  // the lowest at which some buffer would end
  for (const uint32_t id : ids) end = std::min(end, offsets_[id] + buffers_[id].bytes);
  Ids found;
  if (end <= last.offset) return found;
  for (const uint32_t id : ids) {
    const int64_t twin = twins_[id];
    const bool is_second = twin >= 0 && !is_placed_[static_cast<size_t>(twin)];
    if (offsets_[id] < end && !is_second && !must_wait(id, last)) found.push_back(id);
  }
  std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(offsets_[a], a) < std::pair(offsets_[b], b);
  });
  return found;
}

void CapacitySearch::put(uint32_t id) {
  is_placed_[id] = true;
  placed_.push_back(id);
  const uint64_t end = offsets_[id] + buffers_[id].bytes;
  for (const uint32_t other : overlapping_[id]) {
    if (is_placed_[other] || offsets_[other] >= end) continue;
    raised_.push_back({other, offsets_[other]});
    offsets_[other] = end;
  }
}

void CapacitySearch::take_back(size_t placed, size_t raised) {
  for (; placed_.size() > placed; placed_.pop_back()) is_placed_[placed_.back()] = false;
  for (; raised_.size() > raised; raised_.pop_back())
    offsets_[raised_.back().id] = raised_.back().offset;
}

// Returns a digest of all that decides whether the buffers fit: the offsets that placed ones allow,
// and those to be waited for.
uint64_t CapacitySearch::state_of(const Ids& ids, const Last& last) const {
  uint64_t state = 0;
  for (const uint32_t id : ids) {
    state = mixed(state ^ mixed(offsets_[id]) ^ id);
    if (must_wait(id, last)) state = mixed(state ^ mixed(~last.offset));
  }
  return state;
}

CapacitySearch::Outcome CapacitySearch::place(const Ids& ids, const Last& last) {
  const uint64_t state = state_of(ids, last);
  uint64_t& failed = failed_[state % kFailedStates];
  if (failed == state) return Outcome::kImpossible;
  const size_t placed = placed_.size(), raised = raised_.size();
  for (const uint32_t id : candidates(ids, last)) {
    const Outcome outcome = place_first(ids, id);
    if (outcome != Outcome::kImpossible) return outcome;
    take_back(placed, raised);
  }
  failed = state;
  return Outcome::kImpossible;
}

CapacitySearch::Outcome CapacitySearch::place_first(const Ids& ids, uint32_t id) {
  if (visits_ >= limit_) return Outcome::kStopped;
  put(id);
  Ids others;
  others.reserve(ids.size() - 1);
  for (const uint32_t other : ids) {
    visits_ += visits_of_[other];
    if (other != id) others.push_back(other);
  }
  return place_groups(others, {offsets_[id], id});
}

// Splits the buffers where none is live across, and places each group.
CapacitySearch::Outcome CapacitySearch::place_groups(const Ids& ids, const Last& last) {
  if (ids.empty()) return Outcome::kPlaced;
  if (!may_fit(ids, last)) return Outcome::kImpossible;
  std::vector<Ids> groups;
  int64_t end = -1;
  for (const uint32_t id : ids) {
    if (buffers_[id].first > end) groups.emplace_back();
    groups.back().push_back(id);
    end = std::max(end, buffers_[id].last);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
  for (const Ids& group : groups) {
    if (const Outcome outcome = place(group, last); outcome != Outcome::kPlaced) return outcome;
  }
  return Outcome::kPlaced;
}

}  // namespace sluice
