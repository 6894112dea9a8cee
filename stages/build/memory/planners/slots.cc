#include "stages/build/memory/planners/slots.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>

#include "stages/build/memory/planners/orders.h"

namespace sluice {
namespace {

class Slots {
 public:
  explicit Slots(const SlotRule& rule) : rule_(rule) {}

  uint32_t take(uint64_t bytes) {
    const uint64_t wanted = rule_.slot_bytes(bytes);
    auto found = free_.lower_bound({wanted, 0});
    const bool fits = found != free_.end() && (rule_.takes_any || found->first == wanted);
    if (!fits && rule_.takes_any && !free_.empty()) found = std::prev(free_.end());
    if (!fits && (!rule_.takes_any || free_.empty())) {
      bytes_.push_back(wanted);
      return static_cast<uint32_t>(bytes_.size() - 1);
    }
    const uint32_t slot = found->second;
    free_.erase(found);
    bytes_[slot] = std::max(bytes_[slot], wanted);
    return slot;
  }

  void release(uint32_t slot) { free_.emplace(bytes_[slot], slot); }

  // Lays the slots one after the other; returns their offsets, and the end at last.
  std::vector<uint64_t> offsets() const {
    std::vector<uint64_t> offsets(bytes_.size() + 1, 0);
    std::partial_sum(bytes_.begin(), bytes_.end(), offsets.begin() + 1);
    return offsets;
  }

 private:
  const SlotRule& rule_;
  std::vector<uint64_t> bytes_;                   // by slot
  std::set<std::pair<uint64_t, uint32_t>> free_;  // bytes and slot
};

}  // namespace

OffsetPlan plan_slots(const std::vector<Buffer>& buffers, const SlotRule& rule) {
  using End = std::pair<int64_t, uint32_t>;  // the last task of a buffer, and its slot
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Slots slots(rule);
  std::vector<uint32_t> slot_of(buffers.size(), 0);
  for (const uint32_t id : sorted_ids(buffers, begins_before)) {
    for (; !ends.empty() && ends.top().first < buffers[id].first; ends.pop())
      slots.release(ends.top().second);
    slot_of[id] = slots.take(buffers[id].bytes);
    ends.emplace(buffers[id].last, slot_of[id]);
  }
  const std::vector<uint64_t> offsets = slots.offsets();
  OffsetPlan plan{std::vector<uint64_t>(buffers.size(), 0), offsets.back()};
  for (size_t id = 0; id < buffers.size(); ++id) {
    if (buffers[id].bytes > 0) plan.offsets[id] = offsets[slot_of[id]];
  }
  return plan;
}

}  // namespace sluice
