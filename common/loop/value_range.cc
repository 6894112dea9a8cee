#include "common/loop/value_range.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::loop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

ValueRange constant_range(const Instruction& own) {
  if (!is_real(own.dtype)) return {};
  const double value = own.dtype == DType::kF64
                           ? std::bit_cast<double>(own.bits)
                           : std::bit_cast<float>(static_cast<uint32_t>(own.bits));
  return std::isnan(value) ? ValueRange{} : ValueRange{value, value, false};
}

// The numbers of an integer type or of bool.
ValueRange type_range(DType dtype) {
  if (dtype == DType::kBool) return {0, 1, false};
  const int bits = dtype_bits(dtype);
  if (is_real(dtype) || bits > 32) return {};
  const bool is_signed = dtype_is_signed(dtype);
  return {is_signed ? -std::ldexp(1.0, bits - 1) : 0,
          std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1, false};
}

// Results are rounded to f32 or f64: the next number outside is enough for both.
ValueRange rounded(double low, double high, bool may_be_nan) {
  const auto below = std::nextafter(static_cast<float>(low), -std::numeric_limits<float>::max());
  const auto above = std::nextafter(static_cast<float>(high), std::numeric_limits<float>::max());
  return {std::isinf(low) ? low : below, std::isinf(high) ? high : above, may_be_nan};
}

ValueRange sum(const ValueRange& a, const ValueRange& b) {
  const bool meets =
      (a.low == -kInfinity && b.high == kInfinity) || (a.high == kInfinity && b.low == -kInfinity);
  const double low = a.low + b.low, high = a.high + b.high;
  return rounded(std::isnan(low) ? -kInfinity : low, std::isnan(high) ? kInfinity : high,
                 a.may_be_nan || b.may_be_nan || meets);
}

ValueRange negated(const ValueRange& a) { return {-a.high, -a.low, a.may_be_nan}; }

class Ranges {
 public:
  explicit Ranges(const Nest& nest) : nest_(nest), ranges_(nest.instructions.size()) {}

  std::vector<ValueRange> run() {
    for (const Sweep& sweep : nest_.sweeps)
      for (const InstructionId id : sweep.instructions)
        ranges_[static_cast<size_t>(id)] = of(nest_.instructions[static_cast<size_t>(id)]);
    return std::move(ranges_);
  }

 private:
  ValueRange of(const Instruction& own) const {
    if (own.kind == InstructionKind::kConstant) return constant_range(own);
    if (own.kind != InstructionKind::kScalar) return {};
    if (own.op == ScalarOp::kCast) return cast(own);
    if (own.op == ScalarOp::kSelect) return select(own);
    return is_real(own.dtype) ? real(own) : ValueRange{};
  }

  const ValueRange& operand(const Instruction& own, size_t i) const {
    return ranges_[static_cast<size_t>(own.operands[i])];
  }

  ValueRange cast(const Instruction& own) const {
    const DType from = nest_.instructions[static_cast<size_t>(own.operands[0])].dtype;
    if (!is_real(own.dtype)) return {};
    if (!is_real(from)) return type_range(from);
    const ValueRange& x = operand(own, 0);
    return rounded(x.low, x.high, x.may_be_nan);
  }

  // Of the choice between x and a number, by x == x, x is no NaN.
  ValueRange select(const Instruction& own) const {
    if (!is_real(own.dtype)) return {};
    const Instruction& condition = nest_.instructions[static_cast<size_t>(own.operands[0])];
    const bool is_number =
        condition.kind == InstructionKind::kScalar && condition.op == ScalarOp::kEqual &&
        condition.operands[0] == condition.operands[1] && condition.operands[0] == own.operands[1];
    const ValueRange &x = operand(own, 1), &y = operand(own, 2);
    return {std::min(x.low, y.low), std::max(x.high, y.high),
            (x.may_be_nan && !is_number) || y.may_be_nan};
  }

  ValueRange real(const Instruction& own) const {
    const ValueRange& a = operand(own, 0);
    switch (own.op) {
      case ScalarOp::kMax:
      case ScalarOp::kMin: {
        const ValueRange& b = operand(own, 1);
        const bool may_be_nan = a.may_be_nan || b.may_be_nan;
        if (own.op == ScalarOp::kMax)
          return {std::max(a.low, b.low), std::max(a.high, b.high), may_be_nan};
        return {std::min(a.low, b.low), std::min(a.high, b.high), may_be_nan};
      }
      case ScalarOp::kAdd:
        return sum(a, operand(own, 1));
      case ScalarOp::kSub:
        return sum(a, negated(operand(own, 1)));
      case ScalarOp::kNeg:
        return negated(a);
      case ScalarOp::kFloor:
      case ScalarOp::kCeil:
      case ScalarOp::kRound:
        return {std::floor(a.low), std::ceil(a.high), a.may_be_nan};
      default:
        return {};
    }
  }

  const Nest& nest_;
  std::vector<ValueRange> ranges_;
};

}  // namespace

std::vector<ValueRange> value_ranges(const Nest& nest) { return Ranges(nest).run(); }

}  // namespace sluice::loop
