// The second stage rewrites a typed graph into a faster equal one.
#pragma once

#include <span>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

std::span<const Pass> optimize_passes();

// Turns a typed module into a typed one; running it again on its own result changes nothing that
// matters. Resolves --profile=native to an explicit profile, which is stored in the module's
// options.
Result<Module> optimize(Module module, Options options, std::vector<PassReport>& report);

}  // namespace sluice
