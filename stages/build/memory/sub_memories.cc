#include "stages/build/memory/sub_memories.h"

#include <algorithm>
#include <numeric>

#include "stages/build/memory/live_peak.h"
#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

constexpr OffsetPlan (*kSubMemoryPlanners[])(const PlanRequest&) = {
    plan_best_fit_by_size, plan_best_fit_by_area, plan_best_fit_by_life, plan_best_fit_by_time};

// Takes the sub-memories, which the plan lets begin at multiples of `largest`, apart where no
// buffer reaches from one into the next, and moves each down to the end of the one before it.
SubMemoryPlan close_gaps(const std::vector<Buffer>& buffers, const OffsetPlan& plan,
                         uint64_t largest) {
  std::vector<uint32_t> ids(buffers.size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::ranges::stable_sort(ids, {}, [&](uint32_t id) { return plan.offsets[id]; });
  SubMemoryPlan result{plan.offsets, {}};
  uint64_t end = 0, begin = 0, moved_to = 0;  // of the current sub-memory, as planned and after
  for (const uint32_t id : ids) {
    const uint64_t offset = plan.offsets[id];
    if (buffers[id].bytes == 0) continue;
    const uint64_t border = offset / largest * largest;
    if (border >= end && end > begin) {
      result.sub_memories.push_back(end - begin);
      moved_to += end - begin;
      begin = border;
    }
    result.offsets[id] = moved_to + (offset - begin);
    end = std::max(end, offset + buffers[id].bytes);
  }
  if (end > begin) result.sub_memories.push_back(end - begin);
  return result;
}

}  // namespace

SubMemoryPlan plan_sub_memories(const std::vector<Buffer>& buffers, uint64_t largest) {
  const PlanRequest request{.buffers = with_dense_tasks(buffers), .sub_memory_bytes = largest};
  const uint64_t live_bytes = live_peak(buffers).bytes;
  SubMemoryPlan best;
  uint64_t best_bytes = UINT64_MAX;
  for (const auto plan : kSubMemoryPlanners) {
    const OffsetPlan offsets = plan(request);
    if (offsets.offsets.empty()) continue;  // it would have taken too long
    SubMemoryPlan found = close_gaps(buffers, offsets, largest);
    const uint64_t bytes =
        std::accumulate(found.sub_memories.begin(), found.sub_memories.end(), uint64_t{0});
    if (bytes >= best_bytes) continue;
    best_bytes = bytes;
    best = std::move(found);
    if (best_bytes <= live_bytes) break;
  }
  return best;
}

}  // namespace sluice
