#include "stages/subgraph-optimize/codegen/emit/math_basics.h"

#include <llvm/IR/Intrinsics.h>

#include <bit>
#include <cmath>
#include <limits>

#include "stages/subgraph-optimize/codegen/emit/math_avx512.h"

namespace sluice {

using llvm::Value;

namespace {

// Returns 1.5 * 2^(mantissa bits): a small number added to it is rounded to an integer, which is
// then in the low bits.
double magic(const Value* x) { return MathBasics::by_type(x, 0x1.8p23, 0x1.8p52); }

// Returns the bits of a float of x's type.
uint64_t bits_of(const Value* x, double value) {
  return MathBasics::is_double(x) ? std::bit_cast<uint64_t>(value)
                                  : std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

unsigned MathBasics::lanes(const Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

llvm::Type* MathBasics::with_lanes(llvm::Type* scalar, const Value* like) {
  return like->getType()->isVectorTy() ? llvm::FixedVectorType::get(scalar, lanes(like)) : scalar;
}

llvm::Type* MathBasics::integers(const Value* like) const {
  return with_lanes(by_type<llvm::Type*>(like, ir_.getInt32Ty(), ir_.getInt64Ty()), like);
}

llvm::Constant* MathBasics::number(const Value* like, double value) const {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Constant* MathBasics::integer(const Value* like, uint64_t value) const {
  return llvm::ConstantInt::get(integers(like), value);
}

Value* MathBasics::widen(Value* x) const {
  return ir_.CreateFPExt(x, with_lanes(ir_.getDoubleTy(), x));
}

Value* MathBasics::narrow(Value* x) const {
  return ir_.CreateFPTrunc(x, with_lanes(ir_.getFloatTy(), x));
}

double MathBasics::infinity() { return std::numeric_limits<double>::infinity(); }

Value* MathBasics::intrinsic(llvm::Intrinsic::ID id, Value* a) const {
  return ir_.CreateUnaryIntrinsic(id, a);
}

Value* MathBasics::abs(Value* a) const { return intrinsic(llvm::Intrinsic::fabs, a); }
Value* MathBasics::sqrt(Value* a) const { return intrinsic(llvm::Intrinsic::sqrt, a); }

Value* MathBasics::copysign(Value* magnitude, Value* sign) const {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* MathBasics::with_sign(Value* positive, Value* sign) const {
  Value* bit = ir_.CreateAnd(bits(sign), integer(sign, bits_of(sign, -0.0)));
  return from_bits(ir_.CreateOr(bits(positive), bit), positive);
}

Value* MathBasics::multiply_add(Value* a, Value* b, Value* c) const {
  if (!has_fma()) return add(mul(a, b), c);
  return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

// Horner's rule, or, of long polynomials, that for the even and the odd powers side by side: half
// of the latency for one product.
Value* MathBasics::polynomial(Value* x, Coefficients coefficients) const {
  constexpr size_t kLong = 8;
  const auto horner = [&](Value* variable, size_t first, size_t step) {
    size_t i = first + (coefficients.size() - 1 - first) / step * step;
    Value* sum = number(x, coefficients[i]);
    for (; i >= first + step; i -= step) sum = multiply_add(sum, variable, coefficients[i - step]);
    return sum;
  };
  if (coefficients.size() < kLong) return horner(x, 0, 1);
  Value* square = mul(x, x);
  return multiply_add(horner(square, 1, 2), x, horner(square, 0, 2));
}

// The machine's max and min return the second operand when either is NaN.
Value* MathBasics::clamp(Value* x, double low, double high) const {
  Value* l = number(x, low);
  return clamp_max(select(greater(l, x), l, x), high);
}

Value* MathBasics::clamp_max(Value* x, double high) const {
  Value* h = number(x, high);
  return select(less(h, x), h, x);
}

// Where there is no instruction, adding 2^(mantissa bits) leaves no bits for a fraction. Numbers
// that large are integers.
Value* MathBasics::round_by_addition(Value* magnitude) const {
  const double limit = by_type(magnitude, 0x1p23, 0x1p52);
  return select(less(magnitude, limit), sub(add(magnitude, limit), limit), magnitude);
}

Value* MathBasics::round(Value* x) const {
  if (has_rounding()) return intrinsic(llvm::Intrinsic::roundeven, x);
  return copysign(round_by_addition(abs(x)), x);
}

Value* MathBasics::floor(Value* x) const {
  if (has_rounding()) return intrinsic(llvm::Intrinsic::floor, x);
  Value* near = round(x);
  return copysign(sub(near, select(greater(near, x), 1, number(x, 0))), x);
}

Value* MathBasics::ceil(Value* x) const {
  if (has_rounding()) return intrinsic(llvm::Intrinsic::ceil, x);
  Value* near = round(x);
  return copysign(add(near, select(less(near, x), 1, number(x, 0))), x);
}

Value* MathBasics::truncate(Value* x) const {
  if (has_rounding()) return intrinsic(llvm::Intrinsic::trunc, x);
  return copysign(floor(abs(x)), x);
}

RoundedNumber MathBasics::round_product(Value* x, double factor) const {
  Value* shifted = multiply_add(x, factor, number(x, magic(x)));
  return {shifted, sub(shifted, magic(x))};
}

RoundedNumber MathBasics::rounded(Value* n) const { return {add(n, magic(n)), n}; }

// The low bits of `shifted` are n modulo 2^9 (f64: 2^12), which moves into the exponent field; the
// other bits of the magic number are shifted out.
Value* MathBasics::power_of_two(const RoundedNumber& n, int offset) const {
  return power_of_bits(bits(n.shifted), n.shifted, offset);
}

Value* MathBasics::power_of_bits(Value* low_bits, const Value* like, int offset) const {
  Value* exponent =
      ir_.CreateShl(low_bits, integer(like, static_cast<uint64_t>(mantissa_bits(like))));
  const uint64_t one = bits_of(like, std::ldexp(1.0, offset));
  return from_bits(ir_.CreateAdd(exponent, integer(like, one)), like);
}

// Multiplies by two powers of two, of about half of n each: the first product is exact.
Value* MathBasics::scale(Value* x, const RoundedNumber& n) const {
  if (has_avx512()) return avx512_scale(ir_, x, n.value);
  Value* whole = bits(n.shifted);
  Value* half = ir_.CreateLShr(whole, integer(x, 1));  // the lower bit of magic + n is that of n
  Value* other = ir_.CreateSub(whole, half);
  return mul(mul(x, power_of_bits(half, x, 0)), power_of_bits(other, x, 0));
}

// The product with the first factor, 2^(n + offset), is exact.
Value* MathBasics::scale_down(Value* x, const RoundedNumber& n) const {
  if (has_avx512()) return avx512_scale(ir_, x, n.value);
  const int offset = mantissa_bits(x) + 2;
  return mul(mul(x, power_of_two(n, offset)), std::ldexp(1.0, -offset));
}

// Moves the bits so that the exponent field changes at 3/4 * 2^k, and reads it as an integer that
// becomes a float below 2^(mantissa bits + 1). Denormals are scaled first.
SplitNumber MathBasics::split(Value* x) const {
  if (has_avx512()) {
    Value* mantissa = avx512_mantissa(ir_, x);
    return {mantissa, sub(avx512_exponent(ir_, x), avx512_exponent(ir_, mantissa))};
  }
  const int width = mantissa_bits(x);
  const double base = std::ldexp(1.0, width), bias = by_type(x, 127.0, 1023.0);
  Value* is_denormal = less(x, by_type(x, 0x1p-126, 0x1p-1022));
  Value* scaled = bits(select(is_denormal, mul(x, 2 * base), x));
  const uint64_t one = bits_of(x, 1);
  Value* moved = ir_.CreateAdd(scaled, integer(x, one - bits_of(x, 0.75)));
  Value* field = ir_.CreateLShr(moved, integer(x, static_cast<uint64_t>(width)));
  Value* exponent = from_bits(ir_.CreateOr(field, integer(x, bits_of(x, base))), x);
  exponent = sub(exponent, select(is_denormal, base + bias + width + 1, number(x, base + bias)));
  Value* power = ir_.CreateShl(field, integer(x, static_cast<uint64_t>(width)));
  Value* mantissa = ir_.CreateAdd(ir_.CreateSub(scaled, power), integer(x, one));
  return {from_bits(mantissa, x), exponent};
}

}  // namespace sluice
