#include "common/loop/real_range.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::loop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RealRange constant_range(const Instruction& own) {
  if (!is_real(own.dtype)) return {};
  const double value = own.dtype == DType::kF64
                           ? std::bit_cast<double>(own.bits)
                           : std::bit_cast<float>(static_cast<uint32_t>(own.bits));
  return std::isnan(value) ? RealRange{} : RealRange{value, value, false};
}

// The numbers of an integer type or of bool.
RealRange type_range(DType dtype) {
  if (dtype == DType::kBool) return {0, 1, false};
  const int bits = dtype_bits(dtype);
  if (is_real(dtype) || bits > 32) return {};
  const bool is_signed = dtype_is_signed(dtype);
  return {is_signed ? -std::ldexp(1.0, bits - 1) : 0,
          std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1, false};
}

// Results are rounded to f32 or f64: the next number outside is enough for both.
RealRange rounded_outward(double low, double high, bool may_be_nan) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const float below = std::nextafter(static_cast<float>(low), -infinity);
  const float above = std::nextafter(static_cast<float>(high), infinity);
  return {below, above, may_be_nan};
}

RealRange sum(const RealRange& a, const RealRange& b) {
  const bool meets =
      (a.low == -kInfinity && b.high == kInfinity) || (a.high == kInfinity && b.low == -kInfinity);
  const double low = a.low + b.low, high = a.high + b.high;
  return rounded_outward(std::isnan(low) ? -kInfinity : low, std::isnan(high) ? kInfinity : high,
                         a.may_be_nan || b.may_be_nan || meets);
}

RealRange negated(const RealRange& a) { return {-a.high, -a.low, a.may_be_nan}; }

class Ranges {
 public:
  explicit Ranges(const Nest& nest) : nest_(nest), ranges_(nest.instructions.size()) {}

  std::vector<RealRange> run() {
    for (const Sweep& sweep : nest_.sweeps)
      for (const InstructionId id : sweep.instructions)
        ranges_[static_cast<size_t>(id)] = of(nest_.instructions[static_cast<size_t>(id)]);
    return std::move(ranges_);
  }

 private:
  RealRange of(const Instruction& own) const {
    if (own.kind == InstructionKind::kConstant) return constant_range(own);
    if (own.kind != InstructionKind::kScalar) return {};
    if (own.op == ScalarOp::kCast) return cast(own);
    if (own.op == ScalarOp::kSelect) return select(own);
    return is_real(own.dtype) ? real(own) : RealRange{};
  }

  const RealRange& operand(const Instruction& own, size_t i) const {
    return ranges_[static_cast<size_t>(own.operands[i])];
  }

  RealRange cast(const Instruction& own) const {
    const DType from = nest_.instructions[static_cast<size_t>(own.operands[0])].dtype;
    if (!is_real(own.dtype)) return {};
    const RealRange x = is_real(from) ? operand(own, 0) : type_range(from);
    return rounded_outward(x.low, x.high, x.may_be_nan);
  }

  RealRange select(const Instruction& own) const {
    if (!is_real(own.dtype)) return {};
    const auto [chooses, p, q] = own.operands;
    const Instruction& condition = nest_.instructions[static_cast<size_t>(chooses)];
    const RealRange &x = operand(own, 1), &y = operand(own, 2);
    if (condition.kind == InstructionKind::kScalar) {
      const InstructionId a = condition.operands[0], b = condition.operands[1];
      const bool is_equal = condition.op == ScalarOp::kEqual;
      const bool is_less = condition.op == ScalarOp::kLess;
      if (is_equal && a == b && a == p) return either({x.low, x.high, false}, y);
      if (is_less && p == b && q == a) return larger(x, y);
      if (is_less && p == a && q == b) return negated(larger(negated(x), negated(y)));
    }
    return either(x, y);
  }

  static RealRange either(const RealRange& x, const RealRange& y) {
    return {std::min(x.low, y.low), std::max(x.high, y.high), x.may_be_nan || y.may_be_nan};
  }

  // Of x where y < x, else y: y where one is NaN.
  static RealRange larger(const RealRange& x, const RealRange& y) {
    return {x.may_be_nan ? y.low : std::max(x.low, y.low), std::max(x.high, y.high), y.may_be_nan};
  }

  RealRange real(const Instruction& own) const {
    const RealRange& a = operand(own, 0);
    switch (own.op) {
      case ScalarOp::kMax:
      case ScalarOp::kMin: {
        const RealRange& b = operand(own, 1);
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
  std::vector<RealRange> ranges_;
};

}  // namespace

std::vector<RealRange> real_ranges(const Nest& nest) { return Ranges(nest).run(); }

}  // namespace sluice::loop
