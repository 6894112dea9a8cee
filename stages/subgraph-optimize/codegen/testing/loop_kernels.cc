#include "stages/subgraph-optimize/codegen/testing/loop_kernels.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "common/loop/interpreter.h"
#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

enum class Side : uint8_t { kBefore, kBehind };

// A copy of an operand with pages before and behind it that nothing may touch, one of them directly
// beside its bytes.
class GuardedOperand {
 public:
  GuardedOperand(std::byte* original, size_t bytes, Side side)
      : original_(original), bytes_(bytes), page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t body = std::max<size_t>((bytes + page_ - 1) / page_, 1) * page_;
    size_ = body + 2 * page_;
    void* made = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::runtime_error("no memory for an operand");
    base_ = static_cast<std::byte*>(made);
    if (mprotect(base_ + page_, body, PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("no memory for an operand");
    data_ = base_ + page_ + (side == Side::kBehind ? body - bytes : 0);
    std::memcpy(data_, original, bytes);
  }
  ~GuardedOperand() { munmap(base_, size_); }
  GuardedOperand(const GuardedOperand&) = delete;
  GuardedOperand& operator=(const GuardedOperand&) = delete;

  std::byte* data() const { return data_; }
  void copy_back() const { std::memcpy(original_, data_, bytes_); }

 private:
  std::byte* original_;
  size_t bytes_, page_, size_ = 0;
  std::byte *base_ = nullptr, *data_ = nullptr;
};

size_t operand_bytes(loop::LoopGraph& graph, const loop::Buffer& buffer,
                     std::span<const int64_t> sizes) {
  const auto elements =
      graph.expressions.evaluate(loop::stored_elements(graph, buffer), [&](SymbolId symbol) {
        return sizes[static_cast<size_t>(graph.symbols[static_cast<size_t>(symbol)].index)];
      });
  return static_cast<size_t>(dtype_bytes(buffer.dtype, static_cast<uint64_t>(*elements)));
}

void run_guarded(RunnableKernel& kernel, loop::LoopGraph graph, std::span<const int64_t> sizes,
                 std::span<std::byte* const> operands, Side side) {
  std::deque<GuardedOperand> copies;
  std::vector<void*> pointers;
  for (size_t i = 0; i < operands.size(); ++i) {
    copies.emplace_back(operands[i], operand_bytes(graph, graph.buffers[i], sizes), side);
    pointers.push_back(copies.back().data());
  }
  if (loop::is_fixed(graph)) {
    kernel.run(pointers);
  } else {
    kernel.run(pointers, {sizes.begin(), sizes.end()});
  }
  for (size_t i = 0; i < operands.size(); ++i)
    if (graph.buffers[i].is_written) copies[i].copy_back();
}

}  // namespace

const std::vector<DeviceProfile>& loop_profiles() {
  static const std::vector<DeviceProfile> all = {
      *get_profile("cpu-avx512"), *get_profile("cpu-avx2"), *get_profile("cpu-generic")};
  return all;
}

Result<void> run_loop_kernel(const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                             std::span<std::byte* const> operands, const DeviceProfile& profile) {
  static size_t calls = 0;  // of kernels that this CPU cannot run, each fourth is generated
  const bool is_runnable = cpu_supports(profile.isa);
  if (!is_runnable && calls++ % 4 != 0) return loop::interpret(graph, sizes, operands);
  SLUICE_ASSIGN(
      const GeneratedKernel kernel,
      generate_loops(specification_text(graph, profile, MathPrecision::kDefault), "test"));
  SLUICE_ASSIGN(RunnableKernel runnable, RunnableKernel::load(kernel));
  if (!is_runnable) return loop::interpret(graph, sizes, operands);
  try {
    for (const Side side : {Side::kBefore, Side::kBehind})
      run_guarded(runnable, graph, sizes, operands, side);
  } catch (const std::logic_error& error) {
    return make_error(ErrorCode::kBadValue, "{}: {}", profile.name, error.what());
  }
  return {};
}

}  // namespace sluice
