#include "stages/build/memory/plan_offsets.h"

#include <algorithm>

#include "common/base/parallel.h"
#include "stages/build/memory/live_peak.h"
#include "stages/build/memory/planners/dense_tasks.h"

namespace sluice {
namespace {

constexpr Planner kPlanners[] = {
    {"best-fit-size", plan_best_fit_by_size, 0},
    {"max-block", plan_max_slots, 0},
    {"binary-block", plan_binary_slots, 0},
    {"best-fit-area", plan_best_fit_by_area, 1},
    {"best-fit-life", plan_best_fit_by_life, 1},
    {"best-fit-time", plan_best_fit_by_time, 1},
    {"exact", plan_exact, 2},
};

constexpr uint64_t kMaxArena = INT64_MAX;

// Below this number, planners end sooner than threads begin.
constexpr size_t kBuffersForThreads = 1000;

std::span<const Planner> round_from(std::span<const Planner> planners) {
  const auto end = std::ranges::find_if(
      planners, [&](const Planner& planner) { return planner.round != planners.front().round; });
  return {planners.begin(), end};
}

}  // namespace

std::span<const Planner> planners() { return kPlanners; }

Result<ChosenPlan> plan_offsets(const std::vector<Buffer>& buffers, const PlanLimits& limits) {
  ChosenPlan chosen;
  chosen.live_bytes = chosen.bound = live_peak(buffers).bytes;
  PlanRequest request{.buffers = with_dense_tasks(buffers),
                      .enough = std::clamp(limits.enough, chosen.live_bytes, kMaxArena),
                      .visits = limits.visits};
  // The quickest planner goes ahead: others stop where they cannot be better.
  request.best_bytes = std::max(plan_best_fit_by_time(request).arena_bytes, request.enough) + 1;
  uint64_t pairs = 0;
  std::span<const Planner> left = planners();
  while (!left.empty() && request.best_bytes > request.enough) {
    const std::span<const Planner> round = round_from(left);
    std::vector<OffsetPlan> plans(round.size());
    SLUICE_TRY(parallel_for(round.size(), buffers.size() < kBuffersForThreads ? 1 : limits.threads,
                            [&](size_t i) -> Result<void> {
                              plans[i] = round[i].plan(request);
                              return {};
                            }));
    for (size_t i = 0; i < round.size(); ++i) {
      pairs += plans[i].pairs;
      chosen.bound = std::max(chosen.bound, plans[i].bound);
      if (plans[i].arena_bytes >= request.best_bytes) continue;
      request.best_bytes = plans[i].arena_bytes;
      chosen.plan = std::move(plans[i]);
      chosen.planner = round[i].name;
    }
    left = left.subspan(round.size());
  }
  chosen.plan.pairs = pairs;
  return chosen;
}

}  // namespace sluice
