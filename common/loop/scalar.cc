#include "common/loop/scalar.h"

#include <algorithm>
#include <iterator>

namespace sluice::loop {
namespace {

constexpr ScalarRow kRows[] = {
#define SLUICE_SCALAR(name, text, operands, result, cost) \
  {ScalarOp::k##name, text, operands, ScalarResult::result, CostClass::cost},
#include "common/loop/scalar.def"
#undef SLUICE_SCALAR
};

// The classes of dtypes of operands.
struct Takes {
  bool floats, integers, bools;
};

Takes taken_by(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kNot:
      return {false, true, true};
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return {false, true, false};
    case ScalarOp::kLess:
    case ScalarOp::kLessOrEqual:
    case ScalarOp::kEqual:
    case ScalarOp::kSelect:
    case ScalarOp::kCast:
      return {true, true, true};
    case ScalarOp::kBitCast:
      return {true, true, false};
    default:  // arithmetic up to sign, then functions of floats
      return {true, op < ScalarOp::kPow, false};
  }
}

}  // namespace

bool takes_dtype(ScalarOp op, DType dtype) {
  const bool is_float = dtype == DType::kF32 || dtype == DType::kF64;
  if (op == ScalarOp::kCheckIndex) return dtype == DType::kI64;
  if (op == ScalarOp::kRoundToHalf || op == ScalarOp::kRoundToBfloat) return dtype == DType::kF32;
  const Takes takes = taken_by(op);
  if (dtype == DType::kBool) return takes.bools;
  if (is_float) return takes.floats;
  return takes.integers && dtype_is_integer(dtype) && dtype_bits(dtype) >= 8;
}

bool may_fault(ScalarOp op, DType dtype) {
  if (op == ScalarOp::kCheckIndex) return true;
  const bool divides =
      op == ScalarOp::kDiv || op == ScalarOp::kFloorMod || op == ScalarOp::kRemainder;
  return divides && !dtype_is_float(dtype);
}

const ScalarRow& scalar_row(ScalarOp op) { return kRows[static_cast<size_t>(op)]; }

std::optional<ScalarOp> scalar_from_text(std::string_view text) {
  const auto* row = std::ranges::find(kRows, text, &ScalarRow::text);
  if (row == std::end(kRows)) return std::nullopt;
  return row->op;
}

}  // namespace sluice::loop
