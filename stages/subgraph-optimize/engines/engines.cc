#include "stages/subgraph-optimize/engines/engines.h"

#include "stages/subgraph-optimize/codegen/llvm_memory.h"

namespace sluice {

Result<GeneratedKernel> KernelCache::get(const std::string& specification, const std::function<Result<GeneratedKernel>()>& generate) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(specification); found != kernels_.end()) return found->second;
  }
  SLUICE_ASSIGN(GeneratedKernel kernel, [&] {
    const LlvmMemory memory;
    return generate();
  }());
  const std::lock_guard lock(mutex_);
  return kernels_.emplace(specification, std::move(kernel)).first->second;
}

Result<void> lower_for_engine(Graph& graph, const DeviceProfile& profile, KernelCache& kernels) {
  switch (graph.engine) {
    case EngineId::kAicore:
      return lower_aicore(graph, profile, kernels);
    case EngineId::kHostCpu:
      return lower_host_cpu(graph);
    case EngineId::kRts:
      return {};
    default:
      return make_error(ErrorCode::kNotLowerable, "subgraph '{}': this release cannot lower for engine {}", graph.name(),
                        engine_name(graph.engine))
          .with_hint("choose a --profile whose engines are aicore, host_cpu and rts");
  }
}

}  // namespace sluice
