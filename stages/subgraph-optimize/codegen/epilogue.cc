#include "stages/subgraph-optimize/codegen/epilogue.h"

#include <algorithm>

#include "common/loop/text.h"
#include "common/loop/verify.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

using loop::Instruction;
using loop::InstructionKind;
using loop::LoopGraph;

// Returns why the loops are not what is computed at one point, or an empty text.
std::string point_reason(const LoopGraph& loops) {
  const loop::Nest& nest = loops.nests[0];
  if (loops.nests.size() != 1 || nest.sweeps.size() != 1 || !nest.axes.empty())
    return "it has loops";
  const loop::Sweep& sweep = nest.sweeps[0];
  if (!sweep.accumulators.empty()) return "it accumulates";
  if (sweep.stores.size() != 1 || sweep.stores[0].access.buffer != kStoredElement ||
      !sweep.stores[0].guards.empty())
    return "it does not store its element once";
  for (const Instruction& own : nest.instructions) {
    if (own.kind == InstructionKind::kConstant) continue;
    if (own.kind == InstructionKind::kLoad && own.access.buffer != kStoredElement) continue;
    if (own.kind != InstructionKind::kScalar || loop::may_fault(own.op, own.dtype))
      return "it has an instruction that needs loops, or may fault";
  }
  return {};
}

// Epilogues of integer sums are those of quantized contractions, which scale them to f32.
bool fits_buffer(DType dtype, loop::BufferId buffer, DType sum) {
  if (buffer == kSum) return dtype == sum;
  const bool is_half = dtype == DType::kF16 || dtype == DType::kBF16;
  if (buffer == kStoredElement) return sum != DType::kF32 || dtype == DType::kF32 || is_half;
  return dtype == DType::kF32 || (is_half && sum == DType::kF32);
}

// Returns why the buffers do not fit the operands, or an empty text.
std::string buffer_reason(const Epilogue& epilogue, DType sum) {
  const std::vector<loop::Buffer>& buffers = epilogue.loops.buffers;
  const size_t expected = epilogue.operands.size() + kFirstOperand;
  if (buffers.size() != expected)
    return fmt::format("it has {} buffers, expected {}", buffers.size(), expected);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].dims.empty()) return fmt::format("its buffer {} has axes", i);
    if (!fits_buffer(buffers[i].dtype, static_cast<loop::BufferId>(i), sum))
      return fmt::format("its buffer {} is of {}", i, dtype_name(buffers[i].dtype));
  }
  return {};
}

Result<void> check_loops(const Epilogue& epilogue, DType sum) {
  if (auto verified = loop::verify(epilogue.loops); !verified)
    return make_error(ErrorCode::kCodegen, "epilogue: {}", verified.error().message);
  std::string reason = point_reason(epilogue.loops);
  if (reason.empty()) reason = buffer_reason(epilogue, sum);
  if (reason.empty()) return {};
  return make_error(ErrorCode::kCodegen, "epilogue: {}", reason);
}

}  // namespace

Result<void> check_epilogue(const Epilogue& epilogue, size_t batch_rank, DType sum) {
  if (!epilogue.is_empty()) {
    SLUICE_TRY(check_loops(epilogue, sum));
  } else if (!epilogue.operands.empty()) {
    return make_error(ErrorCode::kCodegen, "epilogue: it has operands and no loops");
  }
  for (size_t i = 0; i < epilogue.operands.size(); ++i) {
    const EpilogueOperand& operand = epilogue.operands[i];
    if (!operand.column_stride.is_fixed_at(0) && !operand.column_stride.is_fixed_at(1)) {
      return make_error(ErrorCode::kCodegen,
                        "epilogue operand {} has column stride {}, expected 0 or 1", i,
                        canonical_text(operand.column_stride));
    }
    if (!operand.batch_strides.empty() && operand.batch_strides.size() != batch_rank) {
      return make_error(ErrorCode::kCodegen,
                        "epilogue operand {} has {} batch strides, expected {}", i,
                        operand.batch_strides.size(), batch_rank);
    }
  }
  return {};
}

bool is_fixed(const Epilogue& epilogue) {
  return std::all_of(epilogue.operands.begin(), epilogue.operands.end(),
                     [](const EpilogueOperand& operand) {
                       const auto& strides = operand.batch_strides;
                       return operand.row_stride.is_fixed() &&
                              std::all_of(strides.begin(), strides.end(),
                                          [](const Extent& s) { return s.is_fixed(); });
                     });
}

std::string canonical_text(const Epilogue& epilogue) {
  std::string text = "epilogue";
  for (const EpilogueOperand& operand : epilogue.operands) {
    std::vector<std::string> strides;
    for (const Extent& stride : operand.batch_strides) strides.push_back(canonical_text(stride));
    text += fmt::format(" operand {} {} [{}]", canonical_text(operand.row_stride),
                        canonical_text(operand.column_stride), fmt::join(strides, ","));
  }
  if (epilogue.is_empty()) return text;
  return text + fmt::format(" math {}\n{}", math_precision_name(epilogue.math),
                            loop::print_loops(epilogue.loops));
}

}  // namespace sluice
