// Best fit in an order: buffers are placed one by one, each in the smallest gap that fits between
// the placed buffers that are live with it, or above them; where sub-memories are bounded, within
// one.
#include <algorithm>

#include "stages/build/memory/planners/gaps.h"
#include "stages/build/memory/planners/orders.h"
#include "stages/build/memory/planners/placed_buffers.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

int64_t life(const Buffer& buffer) { return buffer.last - buffer.first + 1; }

double area(const Buffer& buffer) {
  return static_cast<double>(buffer.bytes) * static_cast<double>(life(buffer));
}

template <typename Less>
OffsetPlan plan_by(const PlanRequest& request, const Less& less) {
  const std::vector<Buffer>& buffers = request.buffers;
  OffsetPlan plan{std::vector<uint64_t>(buffers.size(), 0), 0};
  PlacedBuffers placed(buffers);
  for (const uint32_t id : sorted_ids(buffers, less)) {
    const uint64_t bytes = buffers[id].bytes;
    plan.offsets[id] = best_gap(placed.find(buffers[id]), bytes, request.sub_memory_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + bytes);
    plan.pairs = placed.visits();
    if (plan.arena_bytes >= request.best_bytes || plan.pairs > request.max_pairs)
      return {.pairs = plan.pairs};
    placed.add(buffers[id], plan.offsets[id]);
  }
  return plan;
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

}  // namespace sluice
