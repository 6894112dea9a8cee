// Best fit in an order: buffers are placed one by one, each in the smallest gap that fits between
// the placed buffers that are live with it, or above them; where sub-memories are bounded, within
// one.
#include <algorithm>
#include <numeric>

#include "stages/build/memory/planners/alive_index.h"
#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/planners/gaps.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

constexpr uint64_t kFewPairs = 16;  // of all pairs, one in so many

int64_t life(const Buffer& buffer) { return buffer.last - buffer.first + 1; }

double area(const Buffer& buffer) {
  return static_cast<double>(buffer.bytes) * static_cast<double>(life(buffer));
}

template <typename Less>
std::vector<uint32_t> sorted_ids(const std::vector<Buffer>& buffers, const Less& less) {
  std::vector<uint32_t> ids(buffers.size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](uint32_t a, uint32_t b) { return less(buffers[a], buffers[b]); });
  return ids;
}

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

// The placed buffers, where few are live together: an index by time.
class PlacedByTime {
 public:
  explicit PlacedByTime(const std::vector<Buffer>& buffers)
      : buffers_(buffers), alive_(task_count(buffers)) {}

  // Finds the ranges of those that are live together with a buffer, sorted.
  void find(const Buffer& buffer, const OffsetPlan& plan, Ranges& occupied) {
    found_.clear();
    alive_.find(buffer, found_);
    for (const uint32_t id : found_)
      occupied.emplace_back(plan.offsets[id], plan.offsets[id] + buffers_[id].bytes);
    std::ranges::sort(occupied);
  }
  void add(uint32_t id, const OffsetPlan&) { alive_.insert(buffers_[id], id); }

 private:
  const std::vector<Buffer>& buffers_;
  AliveIndex alive_;
  std::vector<uint32_t> found_;
};

// The same where many are: sorted by offset, which saves to sort what is found.
class PlacedByOffset {
 public:
  explicit PlacedByOffset(const std::vector<Buffer>& buffers) : buffers_(buffers) {}

  void find(const Buffer& buffer, const OffsetPlan& plan, Ranges& occupied) const {
    for (const uint32_t id : placed_) {
      const Buffer& other = buffers_[id];
      if (other.first <= buffer.last && buffer.first <= other.last)
        occupied.emplace_back(plan.offsets[id], plan.offsets[id] + other.bytes);
    }
  }
  void add(uint32_t id, const OffsetPlan& plan) {
    const auto after = std::ranges::upper_bound(
        placed_, plan.offsets[id], {}, [&](uint32_t other) { return plan.offsets[other]; });
    placed_.insert(after, id);
  }

 private:
  const std::vector<Buffer>& buffers_;
  std::vector<uint32_t> placed_;
};

template <typename Placed>
OffsetPlan place_in_order(const PlanRequest& request, const std::vector<uint32_t>& order) {
  const std::vector<Buffer>& buffers = request.buffers;
  OffsetPlan plan{std::vector<uint64_t>(buffers.size(), 0), 0};
  Placed placed(buffers);
  Ranges occupied;
  for (const uint32_t id : order) {
    const Buffer& buffer = buffers[id];
    if (buffer.bytes == 0) continue;
    occupied.clear();
    placed.find(buffer, plan, occupied);
    plan.pairs += occupied.size();
    plan.offsets[id] = best_gap(occupied, buffer.bytes, request.sub_memory_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + buffer.bytes);
    placed.add(id, plan);
  }
  return plan;
}

// Returns the number of pairs of buffers that are live together: all but those of which one ends
// before the other begins.
uint64_t count_pairs(const std::vector<Buffer>& buffers) {
  std::vector<int64_t> lasts;
  for (const Buffer& buffer : buffers) lasts.push_back(buffer.last);
  std::ranges::sort(lasts);
  uint64_t pairs = buffers.size() * (buffers.size() - 1) / 2;
  for (const Buffer& buffer : buffers)
    pairs -= static_cast<uint64_t>(std::ranges::lower_bound(lasts, buffer.first) - lasts.begin());
  return pairs;
}

template <typename Less>
OffsetPlan plan_by(const PlanRequest& request, const Less& less) {
  const std::vector<Buffer>& buffers = request.buffers;
  const std::vector<uint32_t> ids = sorted_ids(buffers, less);
  const uint64_t all_pairs = buffers.size() * buffers.size() / 2;
  return count_pairs(buffers) < all_pairs / kFewPairs
             ? place_in_order<PlacedByTime>(request, ids)
             : place_in_order<PlacedByOffset>(request, ids);
}

}  // namespace

OffsetPlan plan_best_fit_by_size(const PlanRequest& request) {
  return plan_by(request, [](const Buffer& a, const Buffer& b) {
    return a.bytes > b.bytes || (a.bytes == b.bytes && life(a) > life(b));
  });
}

OffsetPlan plan_best_fit_by_area(const PlanRequest& request) {
  return plan_by(request, [](const Buffer& a, const Buffer& b) { return area(a) > area(b); });
}

OffsetPlan plan_best_fit_by_life(const PlanRequest& request) {
  return plan_by(request, [](const Buffer& a, const Buffer& b) {
    return life(a) > life(b) || (life(a) == life(b) && a.bytes > b.bytes);
  });
}

OffsetPlan plan_best_fit_by_time(const PlanRequest& request) {
  return plan_by(request, [](const Buffer& a, const Buffer& b) {
    return a.first < b.first || (a.first == b.first && a.bytes > b.bytes);
  });
}

}  // namespace sluice
