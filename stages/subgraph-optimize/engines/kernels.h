// Kernels as the graph names them.
#pragma once

#include <functional>
#include <string>

#include "stages/subgraph-optimize/engines/engines.h"

namespace sluice {

// Generates the kernel of a specification (or finds it) and adds it to the module. Errors: those of
// `generate`; kInternal when it needs more scratch than the device has.
Result<KernelId> add_kernel(Module& module, const DeviceProfile& profile, KernelCache& kernels,
                            const std::string& specification,
                            const std::function<Result<GeneratedKernel>()>& generate);

}  // namespace sluice
