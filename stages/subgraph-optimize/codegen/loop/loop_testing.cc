#include "stages/subgraph-optimize/codegen/loop/loop_testing.h"

#include <stdexcept>

#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/codegen_testing.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"

namespace sluice {

const std::vector<DeviceProfile>& profiles_of_this_cpu() {
  static const std::vector<DeviceProfile> all = [] {
    std::vector<DeviceProfile> able;
    for (const char* name : {"cpu-avx512", "cpu-avx2", "cpu-generic"}) {
      DeviceProfile profile = *get_profile(name);
      if (cpu_supports(profile.isa)) able.push_back(std::move(profile));
    }
    return able;
  }();
  return all;
}

Result<void> run_loop_kernel(const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                             std::span<std::byte* const> operands, const DeviceProfile& profile) {
  SLUICE_ASSIGN(
      const GeneratedKernel kernel,
      generate_loops(specification_text(graph, profile, MathPrecision::kDefault), "test"));
  SLUICE_ASSIGN(RunnableKernel runnable, RunnableKernel::load(kernel));
  const std::vector<void*> pointers(operands.begin(), operands.end());
  try {
    if (loop::is_fixed(graph)) {
      runnable.run(pointers);
    } else {
      runnable.run(pointers, {sizes.begin(), sizes.end()});
    }
  } catch (const std::logic_error& error) {
    return make_error(ErrorCode::kBadValue, "{}: {}", profile.name, error.what());
  }
  return {};
}

}  // namespace sluice
