// Best fit in an order: buffers are placed one by one, each in the smallest gap that fits between
// the placed buffers that are live with it, or above them.
#include <algorithm>
#include <numeric>

#include "stages/build/memory/planners/alive_index.h"
#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/planners/gaps.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

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

OffsetPlan place_in_order(const std::vector<Buffer>& buffers, const std::vector<uint32_t>& order) {
  OffsetPlan plan{std::vector<uint64_t>(buffers.size(), 0), 0};
  AliveIndex alive(task_count(buffers));
  std::vector<uint32_t> neighbours;
  std::vector<std::pair<uint64_t, uint64_t>> occupied;
  for (const uint32_t id : order) {
    const Buffer& buffer = buffers[id];
    if (buffer.bytes == 0) continue;
    neighbours.clear();
    occupied.clear();
    alive.find(buffer, neighbours);
    for (const uint32_t other : neighbours)
      occupied.emplace_back(plan.offsets[other], plan.offsets[other] + buffers[other].bytes);
    std::sort(occupied.begin(), occupied.end());
    plan.pairs += neighbours.size();
    plan.offsets[id] = best_gap(occupied, buffer.bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + buffer.bytes);
    alive.insert(buffer, id);
  }
  return plan;
}

template <typename Less>
OffsetPlan plan_by(const PlanRequest& request, const Less& less) {
  return place_in_order(request.buffers, sorted_ids(request.buffers, less));
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
