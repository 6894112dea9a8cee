// Emits LLVM IR for functions of f32 and f64 values, which may be scalars or vectors of any number
// of lanes. The result has the type of the argument. Nothing calls a library: objects stay closed
// for every profile. A lane's result depends on its arguments and the profile, not on the number
// of lanes.
//
// Errors against the exact result, for all finite arguments:
//
//              f32 default   f32 high   f32 performance                  f64
//   pow        8 ULP         1 ULP      1e-6 relative                    8 ULP
//   others     4 ULP         1 ULP      1e-6 relative, or 4 ULP (tan,    4 ULP
//                                       inverse and hyperbolic ones)
//
// sqrt, reciprocal, floor, ceil, round, abs, remainder, maximum and minimum are exact or rounded
// once. NaN, infinities, signed zeros and domain errors are those of C (ISO/IEC 9899:2018, annex
// F). Code may run with denormals flushed (runtime/device/flush_denormals.h): an argument below the
// smallest normal number then counts as zero, and such a result may become zero, as the remainder
// within a floor_modulus of f64 may.
//
// sin, cos, tan, remainder and floor_modulus add basic blocks, taken for rare arguments: the insert
// point, which must be the end of a block, is in another block afterwards.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "common/target/math_precision.h"
#include "common/target/profile.h"

namespace sluice {

class MathBasics;

class MathEmitter {
 public:
  // Both references must outlive the emitter.
  MathEmitter(llvm::IRBuilder<>& ir, const DeviceProfile& profile,
              MathPrecision precision = MathPrecision::kDefault)
      : ir_(ir), profile_(profile), precision_(precision) {}

  llvm::Value* exp(llvm::Value* x);
  llvm::Value* expm1(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* log1p(llvm::Value* x);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);
  llvm::Value* sin(llvm::Value* x);
  llvm::Value* cos(llvm::Value* x);
  llvm::Value* tan(llvm::Value* x);
  llvm::Value* asin(llvm::Value* x);
  llvm::Value* acos(llvm::Value* x);
  llvm::Value* atan(llvm::Value* x);
  llvm::Value* sinh(llvm::Value* x);
  llvm::Value* cosh(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);
  llvm::Value* asinh(llvm::Value* x);
  llvm::Value* acosh(llvm::Value* x);
  llvm::Value* atanh(llvm::Value* x);
  llvm::Value* erf(llvm::Value* x);
  llvm::Value* sigmoid(llvm::Value* x);  // 1 / (1 + exp(-x))

  llvm::Value* sqrt(llvm::Value* x);
  llvm::Value* reciprocal(llvm::Value* x);
  llvm::Value* floor(llvm::Value* x);
  llvm::Value* ceil(llvm::Value* x);
  llvm::Value* round(llvm::Value* x);  // half to even
  llvm::Value* abs(llvm::Value* x);
  llvm::Value* remainder(llvm::Value* x, llvm::Value* y);      // fmod: the sign of x
  llvm::Value* floor_modulus(llvm::Value* x, llvm::Value* y);  // the sign of y
  // Return NaN when either operand is NaN. Of zeros of both signs, one of which is a constant,
  // either may be the result; otherwise the second.
  llvm::Value* maximum(llvm::Value* x, llvm::Value* y);
  llvm::Value* minimum(llvm::Value* x, llvm::Value* y);

  // Floats of 16 bits are held in i16, rounding is half to even, and NaN stays NaN. Denormal halves
  // are right even where denormals are flushed.
  llvm::Value* half_to_float(llvm::Value* bits);
  // Returns the same where it is only multiplied and added: the code needs a register less.
  llvm::Value* half_to_factor(llvm::Value* bits);
  llvm::Value* float_to_half(llvm::Value* x);
  llvm::Value* bfloat_to_float(llvm::Value* bits);
  llvm::Value* float_to_bfloat(llvm::Value* x);
  // Truncates f32 or f64 to integers of the scalar type `to` (at most 64 bits) as eval's convert
  // does: i32 has -2^31 for NaN and values out of range; other types have the low bits of the
  // 64-bit integer, which is -2^63 for NaN and values out of range (u64: up to 2^64).
  llvm::Value* float_to_int(llvm::Value* x, llvm::IntegerType* to, bool is_signed);

 private:
  using Function = llvm::Value* (*)(const MathBasics& m, llvm::Value* x);
  llvm::Value* emit(Function function, llvm::Value* x, bool widen);
  bool widens(const llvm::Value* x) const;
  bool widens_angle(const llvm::Value* x) const;

  llvm::IRBuilder<>& ir_;
  const DeviceProfile& profile_;
  MathPrecision precision_;
};

}  // namespace sluice
