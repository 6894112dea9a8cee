// The fourth stage: lowers every subgraph on its own, equal ones once.
#pragma once

#include <span>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

std::span<const Pass> subgraph_optimize_passes();

// partitioned -> lowered. A module whose first graph is a subgraph (a file of sluice-partition
// --split) is lowered alone; else every graph called by the root or by its parts.
Result<Module> subgraph_optimize(Module module, const Options& options,
                                 std::vector<PassReport>& report);

}  // namespace sluice
