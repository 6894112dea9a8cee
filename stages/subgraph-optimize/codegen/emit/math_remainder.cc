// The remainder of a division whose quotient is truncated, as long division: every step subtracts
// the multiple of the divisor by the leading 20 bits of the quotient. All products and differences
// are exact: both numbers are multiples of the divisor's last bit times the quotient's, and the
// difference is small against the divisor times the quotient's last bit.
#include <cmath>

#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::BasicBlock;
using llvm::Value;

Value* without_low_bits(const MathBasics& m, Value* x, int bits) {
  return m.from_bits(m.ir().CreateAnd(m.bits(x), m.integer(x, ~uint64_t{0} << bits)), x);
}

// Returns x minus the multiple of y > 0 by the leading bits of x / y.
Value* division_step(const MathBasics& m, Value* x, Value* y) {
  // Larger divisors, themselves multiples of y, keep the quotient finite.
  constexpr double kFar = 0x1p600;
  for (int i = 0; i < 2; ++i)
    y = m.select(m.greater(m.mul(m.abs(x), 1 / kFar), y), m.mul(y, kFar), y);
  // The low bits of tiny divisors would be denormal.
  constexpr double kScale = 0x1p100;
  Value* is_tiny = m.less(y, 0x1p-900);
  x = m.select(is_tiny, m.mul(x, kScale), x);
  y = m.select(is_tiny, m.mul(y, kScale), y);
  Value* quotient = m.truncate(without_low_bits(m, m.div(x, y), 33));
  Value* high = without_low_bits(m, y, 27);
  Value* result = m.sub(x, m.mul(quotient, high));
  result = m.sub(result, m.mul(quotient, m.sub(y, high)));
  return m.select(is_tiny, m.mul(result, 1 / kScale), result);
}

}  // namespace

Value* emit_remainder(const MathBasics& m, Value* x, Value* y) {
  auto& ir = m.ir();
  const double infinity = MathBasics::infinity();
  Value* divisor = m.abs(y);
  Value* is_valid = ir.CreateAnd(m.less(m.abs(x), infinity), m.greater(divisor, 0.0));
  Value* start = m.select(is_valid, x, m.number(x, 0));
  divisor = m.select(is_valid, divisor, m.number(x, 1));

  BasicBlock* before = ir.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(ir.getContext(), "divide", before->getParent());
  BasicBlock* after = BasicBlock::Create(ir.getContext(), "divided", before->getParent());
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* dividend = ir.CreatePHI(x->getType(), 2);
  dividend->addIncoming(start, before);
  Value* is_larger = ir.CreateFCmpOGE(m.abs(dividend), divisor);
  Value* left_over = m.select(is_larger, division_step(m, dividend, divisor), dividend);
  dividend->addIncoming(left_over, loop);
  Value* goes_on = ir.CreateFCmpOGE(m.abs(left_over), divisor);
  if (x->getType()->isVectorTy()) goes_on = ir.CreateOrReduce(goes_on);
  ir.CreateCondBr(goes_on, loop, after);
  ir.SetInsertPoint(after);

  // A rounded quotient may have been too large by its last bit.
  Value* size = m.copysign(left_over, m.number(x, 1));
  Value* overshot = ir.CreateXor(m.less(left_over, 0.0), m.less(x, 0.0));
  overshot = ir.CreateAnd(overshot, m.greater(size, 0.0));
  size = m.select(overshot, m.sub(divisor, size), size);
  return m.select(is_valid, m.copysign(size, x), m.number(x, std::nan("")));
}

}  // namespace sluice
