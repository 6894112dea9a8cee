// Kernels as the graph names them.
#pragma once

#include <functional>
#include <string>

#include "common/loop/loop_graph.h"
#include "stages/subgraph-optimize/engines/engines.h"

namespace sluice {

// Generates the kernel of a specification (or finds it) and adds it to the module. Errors: those of
// `generate`; kInternal when it needs more scratch than the device has.
Result<KernelId> add_kernel(Module& module, const DeviceProfile& profile, KernelCache& kernels,
                            const std::string& specification,
                            const std::function<Result<GeneratedKernel>()>& generate);

// Does the same for the kernel of loops. label: of the node, for messages.
Result<KernelId> add_loop_kernel(Module& module, const GeneratorOptions& options,
                                 KernelCache& kernels, const loop::LoopGraph& loops,
                                 const std::string& label);

}  // namespace sluice
