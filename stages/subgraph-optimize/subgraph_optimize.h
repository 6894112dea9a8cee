// The fourth stage lowers every subgraph on its own, equal ones once.
#pragma once

#include <span>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

std::span<const Pass> subgraph_optimize_passes();

// Turns a partitioned module into a lowered one. A module whose first graph is a subgraph (a file
// of sluice-partition --split) is lowered alone; otherwise every graph called by the root or by its
// parts is.
Result<Module> subgraph_optimize(Module module, const Options& options,
                                 std::vector<PassReport>& report);

}  // namespace sluice
