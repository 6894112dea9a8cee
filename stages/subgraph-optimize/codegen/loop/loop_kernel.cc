#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/cost.h"
#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {
namespace {

constexpr double kBlockLaunches = 8;  // a block takes at least so many times what a launch does
constexpr uint32_t kMaxLoopBlocks = 64;

class LoopKernel {
 public:
  explicit LoopKernel(const KernelSpecification& specification)
      : graph_(specification.loops),
        profile_(specification.profile),
        precision_(specification.math),
        b_(profile_) {}

  Result<GeneratedKernel> run(const std::string& entry) {
    for (const loop::Nest& nest : graph_.nests) {
      nests_.push_back(flatten_nest(graph_, nest));
      plans_.push_back(plan_nest(graph_, nests_.back(), profile_));
    }
    b_.begin_kernel(entry);
    if (!loop::is_fixed(graph_)) b_.set_symbols(b_.symbols_argument());
    SLUICE_TRY(place_buffers());
    for (size_t i = 0; i < nests_.size(); ++i) {
      PlannedNest nest{b_, graph_, nests_[i], plans_[i], loop::real_ranges(nests_[i].nest)};
      NestEmitter(std::move(nest), buffers_, precision_).emit(b_.block(), b_.blocks());
    }
    // Stores past the caches are seen by other threads before the block is done.
    if (std::ranges::any_of(plans_, [](const NestPlan& plan) { return plan.bypasses_caches; }))
      b_.ir().CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    b_.ret_void();
    const EmitOptions options = {.knows_target = true, .is_quick = has_long_body()};
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry, options));
    kernel.scratch_bytes = static_cast<uint64_t>(scratch_);
    count_blocks(kernel);
    return kernel;
  }

 private:
  Result<void> place_buffers() {
    int operand = 0;
    for (const loop::Buffer& buffer : graph_.buffers) {
      if (!buffer.is_local) {
        buffers_.push_back(b_.pointer_argument(operand++));
        continue;
      }
      buffers_.push_back(
          b_.ir().CreateConstInBoundsGEP1_64(b_.ir().getInt8Ty(), b_.scratch(), scratch_));
      scratch_ += (local_bytes(buffer) + 63) / 64 * 64;
    }
    if (scratch_ <= profile_.scratch_limit) return {};
    return make_error(ErrorCode::kCodegen, "loops need {} bytes of scratch, a worker has {}",
                      scratch_, profile_.scratch_limit);
  }

  bool has_long_body() const {
    return std::ranges::any_of(
        graph_.nests, [](const loop::Nest& nest) { return nest.instructions.size() >= kLongBody; });
  }

  // With lanes along an outer axis, each has a row of its own; else there is room for a whole
  // vector of lanes at the end of a row, which place_buffers leaves up to a line.
  static constexpr int kLine = 64;  // bytes
  int64_t local_bytes(const loop::Buffer& buffer) const {
    int64_t rows = 1;
    for (const NestPlan& plan : plans_) {
      if (plan.vector == NestPlan::Vector::kOuter)
        rows = std::max<int64_t>(rows, int64_t{plan.lanes} * plan.unroll);
    }
    for (const ExpressionId dim : buffer.dims) rows *= nominal_number(graph_, dim);
    for (const NestPlan& plan : plans_)
      if (plan.vector == NestPlan::Vector::kInner &&
          plan.lanes * dtype_bits(buffer.dtype) / 8 > kLine)
        rows += plan.lanes;
    return rows * std::max(dtype_bits(buffer.dtype) / 8, 1);
  }

  void count_blocks(GeneratedKernel& kernel) const {
    double cycles = memory_cycles(operand_bytes(graph_), profile_);
    int64_t elements = 1;
    for (const NestPlan& plan : plans_) {
      cycles += plan.cycles;
      elements = std::max(elements, plan.elements);
    }
    kernel.cycles = cycles;
    kernel.multiply_adds = largest_operand();
    if (loop::is_fixed(graph_)) {
      kernel.blocks =
          static_cast<uint32_t>(std::clamp<double>(cycles / block_cycles(), 1, kMaxLoopBlocks));
      return;
    }
    kernel.blocks = kMaxLoopBlocks;
    const double per_element = cycles / static_cast<double>(elements);
    kernel.multiply_adds_per_block =
        std::max<int64_t>(1, static_cast<int64_t>(block_cycles() / per_element));
  }

  double block_cycles() const {
    return kBlockLaunches * static_cast<double>(profile_.costs.launch) / 100;
  }

  // The number of elements of the largest operand; its dims are symbols or numbers.
  Extent largest_operand() const {
    Extent largest = 1;
    uint16_t symbol = 0;
    for (const loop::Buffer& buffer : graph_.buffers) {
      if (buffer.is_local) continue;
      Extent own = 1;
      for (const ExpressionId dim : buffer.dims) {
        const auto number = graph_.expressions.as_constant(dim);
        own *= number ? Extent(std::max<int64_t>(*number, 1))
                      : Extent::of_symbol(symbol, nominal_number(graph_, dim));
        ++symbol;
      }
      if (own.nominal > largest.nominal) largest = own;
    }
    return largest;
  }

  loop::LoopGraph graph_;
  const DeviceProfile& profile_;
  MathPrecision precision_;
  KernelBuilder b_;
  std::vector<FlatNest> nests_;
  std::vector<NestPlan> plans_;
  BufferAddresses buffers_;
  int64_t scratch_ = 0;
};

}  // namespace

Result<GeneratedKernel> generate_loops(std::string_view specification, const std::string& name) {
  SLUICE_ASSIGN(const KernelSpecification parsed, parse_specification(specification, name));
  const std::string entry = kernel_entry(specification_text(parsed));  // without comments
  return LoopKernel(parsed).run(entry);
}

}  // namespace sluice
