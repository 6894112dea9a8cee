#include "stages/subgraph-optimize/codegen/epilogue.h"

#include <algorithm>
#include <bit>

#include "fmt/format.h"

namespace sluice {
namespace {

bool reads_values(const EpilogueInstruction& instruction, int number) {
  const int operands[] = {instruction.a, instruction.b, instruction.c};
  for (int i = 0; i < epilogue_arity(instruction.op); ++i) {
    if (operands[i] < 0 || operands[i] >= number) return false;
  }
  return true;
}

}  // namespace

int epilogue_arity(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::kAccumulator:
    case EpilogueOp::kConstant:
    case EpilogueOp::kLoad:
      return 0;
    case EpilogueOp::kAdd:
    case EpilogueOp::kSub:
    case EpilogueOp::kMul:
    case EpilogueOp::kDiv:
    case EpilogueOp::kMax:
    case EpilogueOp::kMin:
      return 2;
    case EpilogueOp::kSelectPositive:
      return 3;
    case EpilogueOp::kNeg:
    case EpilogueOp::kAbs:
    case EpilogueOp::kRelu:
    case EpilogueOp::kExp:
    case EpilogueOp::kTanh:
    case EpilogueOp::kErf:
    case EpilogueOp::kSigmoid:
    case EpilogueOp::kSqrt:
    case EpilogueOp::kReciprocal:
      return 1;
  }
  return 0;  // unreachable: the compiler checks that every op has its case
}

Result<void> check_epilogue(const Epilogue& epilogue, size_t batch_rank) {
  for (size_t i = 0; i < epilogue.code.size(); ++i) {
    const EpilogueInstruction& instruction = epilogue.code[i];
    if (!reads_values(instruction, static_cast<int>(i))) {
      return make_error(ErrorCode::kCodegen, "epilogue value {} reads a value that is not earlier",
                        i);
    }
    const int operand_count = static_cast<int>(epilogue.operands.size());
    if (instruction.op == EpilogueOp::kLoad &&
        (instruction.a < 0 || instruction.a >= operand_count)) {
      return make_error(ErrorCode::kCodegen, "epilogue value {} loads operand {} of {}", i,
                        instruction.a, operand_count);
    }
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
  for (const EpilogueInstruction& i : epilogue.code) {
    text += fmt::format(" {}:{},{},{},{:08x}", static_cast<int>(i.op), i.a, i.b, i.c,
                        std::bit_cast<uint32_t>(i.constant));
  }
  for (const EpilogueOperand& operand : epilogue.operands) {
    std::vector<std::string> strides;
    for (const Extent& stride : operand.batch_strides) strides.push_back(canonical_text(stride));
    text += fmt::format(" operand {} {} [{}]", canonical_text(operand.row_stride),
                        canonical_text(operand.column_stride), fmt::join(strides, ","));
  }
  return text;
}

Epilogue EpilogueBuilder::finish(int result) {
  if (result != static_cast<int>(epilogue_.code.size()) - 1) {
    // Appends a copy of the value, since the last value is stored: x + (-0) is x for every x.
    const int zero = constant(-0.0f);
    binary(EpilogueOp::kAdd, result, zero);
  }
  return std::move(epilogue_);
}

}  // namespace sluice
