// The lowering of one subgraph by each engine.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/target/math_precision.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Generated kernels by the text of their specification, shared by the threads that lower subgraphs.
// A kernel depends on its specification alone, so the result does not show which thread made it
// first.
class KernelCache {
 public:
  size_t size() const { return kernels_.size(); }  // not to be called while threads use it
  Result<GeneratedKernel> get(const std::string& specification,
                              const std::function<Result<GeneratedKernel>()>& generate);

 private:
  std::mutex mutex_;
  std::map<std::string, GeneratedKernel> kernels_;
};

// What code is generated for, and how.
struct GeneratorOptions {
  DeviceProfile profile;
  MathPrecision math = MathPrecision::kDefault;
};

// Lowers a subgraph in place by its engine. Returns kNotLowerable for an engine without lowering
// (composite ones have none), and for nodes that the engine does not support, naming each.
Result<void> lower_for_engine(Graph& graph, const GeneratorOptions& options, KernelCache& kernels);

// Replaces every contraction by a Fused node that names a kernel, and packing of weights by
// constant expressions. A kernel that wants other storages than its operands or its result have
// gets a TransData beside it.
Result<void> lower_aicore(Graph& graph, const GeneratorOptions& options, KernelCache& kernels);

// Gives every node a kernel that is generated from its loops; views become no task.
Result<void> lower_vector(Graph& graph, const GeneratorOptions& options, KernelCache& kernels);

// Leaves nodes as they are, for the reference kernels; views become no task.
Result<void> lower_host_cpu(Graph& graph, const GeneratorOptions& options, KernelCache& kernels);

}  // namespace sluice
