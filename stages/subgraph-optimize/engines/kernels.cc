#include "stages/subgraph-optimize/engines/kernels.h"

#include "common/base/parallel.h"
#include "common/base/work.h"
#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/emit/llvm_memory.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"
#include "stages/subgraph-optimize/engines/engines.h"

namespace sluice {
namespace {

Kernel make_kernel(Module& module, const DeviceProfile& profile, const GeneratedKernel& made) {
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kU8, {static_cast<int64_t>(made.object.size())}));
  Kernel kernel;
  kernel.object = module.make_constant(type, made.object);
  kernel.entry = made.entry;
  kernel.isa = profile.isa;
  kernel.blocks = made.blocks;
  kernel.scratch_bytes = made.scratch_bytes;
  kernel.multiply_adds = static_cast<uint64_t>(made.multiply_adds.factor);
  kernel.cycles = static_cast<uint64_t>(made.cycles);
  kernel.symbolic = made.multiply_adds_per_block > 0;
  if (kernel.symbolic) {
    kernel.multiply_add_symbols.assign(made.multiply_adds.symbols.begin(),
                                       made.multiply_adds.symbols.end());
    kernel.multiply_adds_per_block = static_cast<uint64_t>(made.multiply_adds_per_block);
    kernel.nominal_multiply_adds = static_cast<uint64_t>(made.multiply_adds.nominal);
  }
  return kernel;
}

}  // namespace

KernelId KernelRequests::add(Module& module, const std::string& specification, Generate generate) {
  const std::lock_guard lock(mutex_);
  const auto [request, inserted] = requests_.try_emplace(specification);
  if (inserted) request->second.generate = std::move(generate);
  Kernel kernel;  // its name distinguishes it from the module's others until it is complete
  kernel.entry = specification;
  const size_t before = module.kernel_count();
  const KernelId id = module.add_kernel(kernel);
  if (module.kernel_count() > before) asked_.push_back({&module, id, &request->second});
  return id;
}

void KernelRequests::allow_missing(const Node& node) {
  if (node.placement.kernel < 0) return;
  const Kernel& kernel = node.graph().module().kernel(node.placement.kernel);
  const auto request = requests_.find(kernel.entry);
  if (request != requests_.end()) request->second.may_be_missing = true;
}

Result<void> KernelRequests::make(const std::string& specification, Request& request,
                                  const KernelSources& sources) {
  auto found = sources.model.find(specification);
  if (!found && sources.model.is_used() && !request.may_be_missing) {
    request.made.entry = kernel_entry(specification);
    return {};
  }
  if (!found) found = sources.store.find(specification);
  if (found) {
    request.made = *std::move(found);
    request.state = Request::State::kFound;
    return {};
  }
  const LlvmMemory memory;
  SLUICE_ASSIGN(request.made, request.generate());
  request.state = Request::State::kGenerated;
  sources.store.keep(specification, request.made);
  return {};
}

void KernelRequests::count() const {
  for (const auto& [specification, request] : requests_) {
    if (request.state == Request::State::kFound) add_work(Work::kKernelsFound);
    if (request.state == Request::State::kGenerated) add_work(Work::kKernels);
  }
}

std::vector<KernelRequests::Wanted> KernelRequests::take_wanted() {
  std::vector<Wanted> wanted;
  for (auto& [specification, request] : requests_)
    wanted.push_back({specification, std::move(request.generate)});
  return wanted;
}

std::set<std::string> KernelRequests::missing() const {
  std::set<std::string> entries;
  for (const auto& [specification, request] : requests_)
    if (request.state == Request::State::kMissing) entries.insert(request.made.entry);
  return entries;
}

Result<void> KernelRequests::generate_all(const DeviceProfile& profile,
                                          const KernelSources& sources, int64_t threads) {
  std::vector<std::pair<const std::string*, Request*>> requests;
  for (auto& [text, request] : requests_) requests.emplace_back(&text, &request);
  SLUICE_TRY(parallel_for(requests.size(), threads, [&](size_t i) {
    return make(*requests[i].first, *requests[i].second, sources);
  }));
  count();
  for (const auto& [module, kernel, request] : asked_) {
    const GeneratedKernel& made = request->made;
    if (made.scratch_bytes > static_cast<uint64_t>(profile.scratch_limit)) {
      return make_error(ErrorCode::kInternal,
                        "kernel '{}' needs {} bytes of scratch, the device has {}", made.entry,
                        made.scratch_bytes, profile.scratch_limit);
    }
    module->kernel(kernel) = make_kernel(*module, profile, made);
  }
  return {};
}

KernelId add_loop_kernel(Module& module, const GeneratorOptions& options, KernelRequests& kernels,
                         const loop::LoopGraph& loops, const std::string& label) {
  const std::string text = specification_text(loops, options.profile, options.math);
  return kernels.add(module, text, [text, label] { return generate_loops(text, label); });
}

}  // namespace sluice
