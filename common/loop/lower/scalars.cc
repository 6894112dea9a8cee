#include "common/loop/lower/scalars.h"

#include <limits>

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

InstructionId whole_power(Lowering& l, InstructionId x, int64_t exponent) {
  InstructionId result = -1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result < 0 ? x : mul(l, result, x);
    if (exponent > 1) x = mul(l, x, x);
  }
  return result < 0 ? l.integer(l.dtype_of(x), 1) : result;
}

}  // namespace sluice::loop
