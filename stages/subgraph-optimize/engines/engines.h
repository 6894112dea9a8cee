// The lowering of one subgraph by each engine.
#pragma once

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/target/math_precision.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/engines/kernels.h"

namespace sluice {

// What code is generated for, and how.
struct GeneratorOptions {
  DeviceProfile profile;
  MathPrecision math = MathPrecision::kDefault;
};

// Lowers a subgraph in place by its engine; its kernels are complete after
// KernelRequests::generate_all. Returns kNotLowerable for an engine without lowering
// (composite ones have none), and for nodes that the engine does not support, naming each.
Result<void> lower_for_engine(Graph& graph, const GeneratorOptions& options,
                              KernelRequests& kernels);

// Replaces every contraction by a Fused node that names a kernel, and packing of weights by
// constant expressions. A kernel that wants other storages than its operands or its result have
// gets a TransData beside it.
Result<void> lower_aicore(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels);

// Gives every node a kernel that is generated from its loops; views become no task.
Result<void> lower_vector(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels);

// Leaves nodes as they are, for the reference kernels; views become no task.
Result<void> lower_host_cpu(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels);

}  // namespace sluice
