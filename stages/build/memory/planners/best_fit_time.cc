// Best fit in the order of time: what was placed and is live together with a buffer is live when it
// begins. So it is enough to walk over time and to keep what is free.
#include <algorithm>

#include "common/omfile/holes.h"
#include "stages/build/memory/planners/gaps.h"
#include "stages/build/memory/planners/orders.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

// Takes bytes from the smallest hole that fits. One of the holes has no end.
uint64_t take(Holes& holes, uint64_t bytes, uint64_t sub_memory_bytes) {
  auto hole = holes.by_size().lower_bound({bytes, 0});
  uint64_t place = first_place(hole->second, bytes, sub_memory_bytes);
  while (place - hole->second > hole->first - bytes) {
    ++hole;
    place = first_place(hole->second, bytes, sub_memory_bytes);
  }
  holes.take(*hole, place, bytes);
  return place;
}

}  // namespace

OffsetPlan plan_best_fit_by_time(const PlanRequest& request) {
  const std::vector<Buffer>& buffers = request.buffers;
  OffsetPlan plan{std::vector<uint64_t>(buffers.size(), 0), 0};
  const std::vector<uint32_t> ends =
      sorted_ids(buffers, [](const Buffer& a, const Buffer& b) { return a.last < b.last; });
  auto ended = ends.begin();
  Holes holes;
  holes.give(0, UINT64_MAX);
  for (const uint32_t id : sorted_ids(buffers, begins_before)) {
    const Buffer& buffer = buffers[id];
    for (; buffers[*ended].last < buffer.first; ++ended)
      holes.give(plan.offsets[*ended], buffers[*ended].bytes);
    plan.offsets[id] = take(holes, buffer.bytes, request.sub_memory_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + buffer.bytes);
    ++plan.pairs;
  }
  return plan;
}

}  // namespace sluice
