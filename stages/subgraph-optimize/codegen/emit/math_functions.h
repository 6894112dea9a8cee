// The functions of math.h for f32 and f64, each in its own precision. math.cc chooses the types.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/math_basics.h"

namespace sluice {

llvm::Value* emit_exp(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_expm1(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_sigmoid(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_sinh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_cosh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_tanh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_erf(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_log(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_log1p(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_asinh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_acosh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_atanh(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_pow(const MathBasics& m, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_asin(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_acos(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_atan(const MathBasics& m, llvm::Value* x);
// f32 needs a profile with fused multiply-add.
llvm::Value* emit_sin(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_cos(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_tan(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_remainder(const MathBasics& m, llvm::Value* x, llvm::Value* y);  // f64 only

// Parts of functions.

// The reduction x = n ln 2 + r with |r| <= ln 2 / 2, for x in the range of exp.
struct ReducedExponent {
  RoundedNumber n;
  llvm::Value* remainder = nullptr;
};
ReducedExponent reduce_exponent(const MathBasics& m, llvm::Value* x);
llvm::Value* emit_exp_of_remainder(const MathBasics& m, llvm::Value* remainder);  // e^remainder
llvm::Value* emit_exp2m1(const MathBasics& m, llvm::Value* x);     // 2^x - 1, f32, |x| <= 1/2
llvm::Value* clamp_exponent(const MathBasics& m, llvm::Value* x);  // to where exp changes

// ln 2 = high + low, both positive; n * high is exact for the exponents n of floats.
struct TwoParts {
  double high, low;
};
TwoParts log_of_two(const llvm::Value* like);

// Returns `result` = log(x) for positive x with infinity, zeros and negative numbers put right.
llvm::Value* with_log_limits(const MathBasics& m, llvm::Value* x, llvm::Value* result);

}  // namespace sluice
