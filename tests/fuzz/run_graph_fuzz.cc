// Takes a .sg file as a root graph: the host engine opens it and walks it once, on tiny tensors.
// Each tensor that is made uses up fuel, so that no loop runs for long.
#include <memory_resource>
#include <new>

#include "common/base/memory.h"
#include "common/graphfile/graphfile.h"
#include "runtime/loader/host_engine.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/graph_file.h"

extern "C" const sluice::HostEngine* sluice_host_engine();

namespace {

using namespace sluice;

// Limits memory to 2,000 tensors of 512 KB together.
class Fuel : public std::pmr::memory_resource {
 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    if (tensors_-- == 0 || bytes > bytes_) throw std::bad_alloc();
    bytes_ -= bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override {
    bytes_ += bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  size_t tensors_ = 2000;
  size_t bytes_ = size_t{512} << 10;
};

HostValue value_of(const Type& type) {
  HostValue value;
  if (type.kind != TypeKind::kTensor) {
    value.kind =
        type.kind == TypeKind::kOptional ? HostValue::Kind::kNone : HostValue::Kind::kSequence;
    return value;
  }
  std::vector<int64_t> dims;
  for (const Dim& dim : type.dims) dims.push_back(dim.is_fixed() ? dim.value : 2);
  if (!type.ranked) dims = {2, 2};
  if (!element_count(dims)) dims.assign(dims.size(), 1);  // no file of values has them
  value.tensors.push_back(
      HostTensor::of(std::make_shared<const Tensor>(make_tensor(type.dtype, std::move(dims)))));
  return value;
}

Result<void> walk(std::shared_ptr<const std::vector<std::byte>> bytes) {
  SLUICE_ASSIGN(const Module module, read_graph(bytes, "fuzzed"));
  Fuel fuel;
  const UseTensorMemory use(&fuel);
  std::vector<HostValue> inputs;
  for (const Value* input : module.root().inputs()) {
    if (!input->is_constant()) inputs.push_back(value_of(input->type()));
  }
  const HostEngine& engine = *sluice_host_engine();
  SLUICE_ASSIGN(const auto graph, engine.open_graph(*bytes, {}));
  static_cast<void>(engine.outputs_of_parts(graph));
  GraphHooks hooks;
  hooks.memory = &fuel;
  hooks.call_part = [](uint32_t, std::span<const HostTensor>) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>();
  };
  SLUICE_ASSIGN(const auto outputs, engine.run_graph(graph, inputs, hooks));
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto span = fuzz::bytes_of(data, size);
  auto bytes = std::make_shared<std::vector<std::byte>>(span.begin(), span.end());
  fuzz::seal_graph(*bytes);
  const auto done = within_memory([&] { return walk(bytes); });
  if (!done) fuzz::expect_unsupported_reason(done.error());
  return 0;
}
