// The vocabulary in which the functions of math.h are written: arithmetic on values of any type
// that MathEmitter takes, and what the processor families do differently.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>

#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {

// What instructions are added with.
using Ir = llvm::IRBuilder<>;

// The coefficients of a polynomial, from the lowest power on.
using Coefficients = std::span<const double>;

// An integral number n as n + magic, which has n in its low bits, and as n itself.
struct RoundedNumber {
  llvm::Value* shifted = nullptr;
  llvm::Value* value = nullptr;
};

// x = mantissa * 2^exponent with a mantissa in [3/4, 3/2).
struct SplitNumber {
  llvm::Value* mantissa = nullptr;
  llvm::Value* exponent = nullptr;  // a float
};

class MathBasics {
 public:
  using Value = llvm::Value;

  MathBasics(llvm::IRBuilder<>& ir, const DeviceProfile& profile, MathPrecision precision)
      : ir_(ir), profile_(profile), precision_(precision) {}

  llvm::IRBuilder<>& ir() const { return ir_; }
  const DeviceProfile& profile() const { return profile_; }
  bool is_fast() const { return precision_ == MathPrecision::kPerformance; }
  bool has_fma() const { return profile_.fused_multiply_add; }
  bool has_avx512() const { return profile_.isa.starts_with("avx512"); }
  bool has_rounding() const { return profile_.isa != "generic"; }  // SSE4.1

  // Types and constants.
  static bool is_double(const Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }
  static unsigned lanes(const Value* x);  // 1 for a scalar
  static llvm::Type* with_lanes(llvm::Type* scalar, const Value* like);
  llvm::Type* integers(const Value* like) const;                  // of the floats' width
  llvm::Constant* number(const Value* like, double value) const;  // rounded to like's type
  llvm::Constant* integer(const Value* like, uint64_t value) const;
  Value* widen(Value* x) const;   // f32 -> f64
  Value* narrow(Value* x) const;  // f64 -> f32
  // Returns the argument for f32 or for f64.
  template <typename T>
  static T by_type(const Value* x, T single, T wide) {
    return is_double(x) ? wide : single;
  }
  static int mantissa_bits(const Value* x) { return by_type(x, 23, 52); }
  static double infinity();

  // Arithmetic.
  Value* add(Value* a, Value* b) const { return ir_.CreateFAdd(a, b); }
  Value* add(Value* a, double b) const { return add(a, number(a, b)); }
  Value* sub(Value* a, Value* b) const { return ir_.CreateFSub(a, b); }
  Value* sub(Value* a, double b) const { return sub(a, number(a, b)); }
  Value* mul(Value* a, Value* b) const { return ir_.CreateFMul(a, b); }
  Value* mul(Value* a, double b) const { return mul(a, number(a, b)); }
  Value* div(Value* a, Value* b) const { return ir_.CreateFDiv(a, b); }
  Value* neg(Value* a) const { return ir_.CreateFNeg(a); }
  Value* abs(Value* a) const;
  Value* copysign(Value* magnitude, Value* sign) const;
  Value* with_sign(Value* positive, Value* sign) const;  // the same of a number without sign bit
  Value* sqrt(Value* a) const;
  // Returns a * b + c, fused where the profile can.
  Value* multiply_add(Value* a, Value* b, Value* c) const;
  Value* multiply_add(Value* a, Value* b, double c) const {
    return multiply_add(a, b, number(a, c));
  }
  Value* multiply_add(Value* a, double b, Value* c) const {
    return multiply_add(a, number(a, b), c);
  }
  // Evaluates a polynomial in x.
  Value* polynomial(Value* x, Coefficients coefficients) const;

  // Comparisons are false for NaN.
  Value* less(Value* a, Value* b) const { return ir_.CreateFCmpOLT(a, b); }
  Value* less(Value* a, double b) const { return less(a, number(a, b)); }
  Value* greater(Value* a, Value* b) const { return ir_.CreateFCmpOGT(a, b); }
  Value* greater(Value* a, double b) const { return greater(a, number(a, b)); }
  Value* equal(Value* a, Value* b) const { return ir_.CreateFCmpOEQ(a, b); }
  Value* equal(Value* a, double b) const { return equal(a, number(a, b)); }
  Value* select(Value* condition, Value* yes, Value* no) const {
    return ir_.CreateSelect(condition, yes, no);
  }
  Value* select(Value* condition, double yes, Value* no) const {
    return select(condition, number(no, yes), no);
  }
  // Limits x to [low, high]; NaN stays NaN.
  Value* clamp(Value* x, double low, double high) const;
  Value* clamp_max(Value* x, double high) const;

  // Bits.
  Value* bits(Value* x) const { return ir_.CreateBitCast(x, integers(x)); }
  Value* from_bits(Value* bits, const Value* like) const {
    return ir_.CreateBitCast(bits, like->getType());
  }

  // Rounding.
  Value* floor(Value* x) const;
  Value* ceil(Value* x) const;
  Value* truncate(Value* x) const;
  Value* round(Value* x) const;  // half to even
  // Rounds x * factor to the nearest integer; |x * factor| < 2^21.
  RoundedNumber round_product(Value* x, double factor) const;
  RoundedNumber rounded(Value* n) const;  // of an integral n

  // Returns 2^(n + offset), a normal number.
  Value* power_of_two(const RoundedNumber& n, int offset) const;
  // Returns x * 2^n with one rounding, also where the result is denormal or overflows; x is in
  // [1/4, 4] and 2^(n / 2) is a normal number.
  Value* scale(Value* x, const RoundedNumber& n) const;
  // The same where the result does not overflow: 2^n is normal, or as small as a denormal.
  Value* scale_down(Value* x, const RoundedNumber& n) const;
  // Splits x > 0, which may be denormal. For other x the parts are unspecified, but for AVX-512,
  // whose parts make e * c + log(mantissa) right: 0 has exponent -infinity, infinity has infinity,
  // and negative numbers and NaN have the mantissa NaN.
  SplitNumber split(Value* x) const;

 private:
  Value* intrinsic(llvm::Intrinsic::ID id, Value* a) const;
  // Returns 2^(n + offset), a normal number, for n in the low bits.
  Value* power_of_bits(Value* low_bits, const Value* like, int offset) const;
  Value* round_by_addition(Value* magnitude) const;

  llvm::IRBuilder<>& ir_;
  const DeviceProfile& profile_;
  MathPrecision precision_;
};

}  // namespace sluice
