#include "stages/subgraph-optimize/engines/kernels.h"

#include "common/ir/module.h"
#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"

namespace sluice {

Result<KernelId> add_kernel(Module& module, const DeviceProfile& profile, KernelCache& kernels,
                            const std::string& specification,
                            const std::function<Result<GeneratedKernel>()>& generate) {
  SLUICE_ASSIGN(GeneratedKernel made, kernels.get(specification, generate));
  if (made.scratch_bytes > static_cast<uint64_t>(profile.scratch_limit)) {
    return make_error(ErrorCode::kInternal,
                      "kernel '{}' needs {} bytes of scratch, the device has {}", made.entry,
                      made.scratch_bytes, profile.scratch_limit);
  }
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kU8, {static_cast<int64_t>(made.object.size())}));
  Kernel kernel;
  kernel.object = module.make_constant(type, std::move(made.object));
  kernel.entry = made.entry;
  kernel.isa = profile.isa;
  kernel.blocks = made.blocks;
  kernel.scratch_bytes = made.scratch_bytes;
  kernel.multiply_adds = static_cast<uint64_t>(made.multiply_adds.factor);
  kernel.symbolic = made.multiply_adds_per_block > 0;
  if (kernel.symbolic) {
    kernel.multiply_add_symbols.assign(made.multiply_adds.symbols.begin(),
                                       made.multiply_adds.symbols.end());
    kernel.multiply_adds_per_block = static_cast<uint64_t>(made.multiply_adds_per_block);
  }
  return module.add_kernel(kernel);
}

Result<KernelId> add_loop_kernel(Module& module, const GeneratorOptions& options,
                                 KernelCache& kernels, const loop::LoopGraph& loops,
                                 const std::string& label) {
  const std::string text = specification_text(loops, options.profile, options.math);
  return add_kernel(module, options.profile, kernels, text,
                    [&] { return generate_loops(text, label); });
}

}  // namespace sluice
