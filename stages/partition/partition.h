// The third stage chooses engines, then parts, then subgraphs.
#pragma once

#include <span>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

std::span<const Pass> partition_passes();

// Turns a typed module into a partitioned one. Resolves --profile=native to an explicit profile,
// which is stored in the module's options.
Result<Module> partition(Module module, Options options, std::vector<PassReport>& report);

}  // namespace sluice
