// What is reported when a compiled model, which kernels are taken from, does not have all of them.
#pragma once

#include <set>
#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "stages/subgraph-optimize/engines/model_kernels.h"

namespace sluice {

// Returns kNoKernel when a node names one of the kernels, which have no code: lists all such nodes,
// and says how each differs from the node of its name in the compiled model. An input or output
// that differs is named first.
Result<void> check_missing(const Module& module, const std::set<std::string>& entries,
                           const ModelKernels& kernels);

}  // namespace sluice
