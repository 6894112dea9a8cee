#include "common/loop/lower/scalars.h"

#include <cmath>
#include <limits>

#include "common/loop/lower/narrow.h"

namespace sluice::loop {
namespace {

InstructionId extreme(Lowering& l, DType dtype, bool is_high) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (dtype == DType::kF32 || dtype == DType::kF64)
    return l.real(dtype, is_high ? kInfinity : -kInfinity);
  if (!dtype_is_signed(dtype)) return l.integer(dtype, is_high ? -1 : 0);
  const int64_t low = std::numeric_limits<int64_t>::min() >> (64 - dtype_bits(dtype));
  return l.integer(dtype, is_high ? -(low + 1) : low);
}

}  // namespace

InstructionId lowest(Lowering& l, DType dtype) { return extreme(l, dtype, false); }
InstructionId highest(Lowering& l, DType dtype) { return extreme(l, dtype, true); }

InstructionId number_of(Lowering& l, DType dtype, ExpressionId value) {
  if (const auto constant = l.table().as_constant(value)) return l.integer(dtype, *constant);
  return l.cast(l.index_value(value), dtype);
}

// The steps are clamped before they are rounded: between the bounds, adding 1.5 * 2^23 rounds and
// leaves the integer in the low 16 bits, to which that number adds nothing.
InstructionId saturated_steps(Lowering& l, InstructionId steps, std::optional<InstructionId> zero,
                              DType to) {
  constexpr float kMagic = 12582912.0f;
  const auto known = zero ? l.known_real(*zero) : 0;
  const auto shifted = [&](double bound) {
    return known ? l.real(DType::kF32, bound - *known)
                 : sub(l, l.real(DType::kF32, bound), l.cast(*zero, DType::kF32));
  };
  const int bits = dtype_bits(to);
  const double lowest = dtype_is_signed(to) ? -std::ldexp(1.0, bits - 1) : 0;
  const InstructionId low = shifted(lowest), high = shifted(lowest + std::ldexp(1.0, bits) - 1);
  const auto is_less = [&](InstructionId a, InstructionId b) {
    return l.scalar(ScalarOp::kLess, a, b);
  };
  InstructionId inside = select(l, is_less(low, steps), steps, low);
  inside = select(l, l.scalar(ScalarOp::kEqual, steps, steps), inside, l.real(DType::kF32, 0));
  inside = select(l, is_less(inside, high), inside, high);
  InstructionId rounded = l.bit_cast(add(l, inside, l.real(DType::kF32, kMagic)), DType::kI32);
  if (known != 0) rounded = add(l, rounded, l.cast(*zero, DType::kI32));
  return is_narrow(to) ? narrowed(l, to, rounded, {}) : l.cast(rounded, to);
}

InstructionId whole_power(Lowering& l, InstructionId x, int64_t exponent) {
  InstructionId result = -1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result < 0 ? x : mul(l, result, x);
    if (exponent > 1) x = mul(l, x, x);
  }
  return result < 0 ? l.integer(l.dtype_of(x), 1) : result;
}

}  // namespace sluice::loop
