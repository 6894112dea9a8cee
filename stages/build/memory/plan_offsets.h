// The placement of buffers in one arena, so that buffers live at the same time never overlap: the
// dynamic storage allocation problem, NP-hard. Several planners (planners/planners.h) try, and the
// smallest arena is kept.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/buffer.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {

struct Planner {
  std::string_view name;
  OffsetPlan (*plan)(const PlanRequest& request);
  int round;  // planners of a round run side by side; later ones while the arena is too large
};
std::span<const Planner> planners();

struct PlanLimits {
  uint64_t enough = 0;           // an arena of this size is as good as a smaller one
  uint64_t visits = 20'000'000;  // of the exact planner: at most a few seconds
  int64_t threads = 1;           // the plan does not depend on it
};

struct ChosenPlan {
  OffsetPlan plan;           // pairs: of all planners that ran
  std::string_view planner;  // its name
  uint64_t live_bytes = 0;   // the maximum over all tasks
  uint64_t bound = 0;        // no arena is smaller: the live bytes, or what was proved
};

// Runs the planners until the arena is no larger than the live bytes, or than what is enough, and
// keeps the smallest plan: of equal ones, that of the first planner. Buffers are not empty in time
// (first <= last), and the sum of their bytes is below 2^63. Errors: kLimit when memory or threads
// are exhausted.
Result<ChosenPlan> plan_offsets(const std::vector<Buffer>& buffers, const PlanLimits& limits = {});

}  // namespace sluice
