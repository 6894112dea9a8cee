// What a task costs, for decisions about streams and for pictures of a schedule.
#pragma once

#include <cstdint>

#include "common/ir/graph.h"
#include "common/target/profile.h"

namespace sluice {

struct TaskCost {
  double cycles = 0;    // estimated for one thread; above 0
  uint32_t blocks = 1;  // that threads can share
};

// Returns the estimate at fixed or nominal sizes. That of a task without a kernel, or with one that
// says nothing, is what moving its operands through memory takes.
TaskCost estimate_task(const Node& task, const DeviceProfile& profile);

}  // namespace sluice
