// The error function. f32 takes log2(1 - erf x), which is nearly a parabola, as a
// polynomial; f64 follows W. Cody, Rational Chebyshev
// Approximations for the Error Function (1969), in its division of the argument, and M. Shepherd
// and J. Laframboise, Chebyshev Approximation of (1 + 2x) exp(x^2) erfc(x) (1981), in the variable
// of its second part. The coefficients are minimax.
#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// erf(x) / x in x^2 up to 1.
constexpr double kSmall[] = {
    1.1283791670955126,      -0.37612638903183343,   0.11283791670936955,
    -0.026866170641960584,   0.0052239775967545159,  -0.00085483254862278374,
    0.00012055280543518577,  -1.492446673726409e-05, 1.6444166494894864e-06,
    -1.6184130923549248e-07, 1.3617378069801707e-08, -7.6092120975180705e-10};
// exp(x^2) erfc(x) in (x - 3) / (x + 3) for x from 1 to 6, weighted by the part of erfc in erf.
constexpr double kLarge[] = {
    0.17900115118138993,     -0.32623356004317222,   0.24560380170759918,    -0.1501159365461382,
    0.071665837476715205,    -0.02439248939729171,   0.0042692370803822516,  0.00070832570535672473,
    -0.00059493961587017512, 5.0337076905230877e-05, 7.1770950879564756e-05, -6.336219522713349e-06,
    -6.5466475669333626e-06};

// log2(1 - erf x) / x for x up to 3.93, weighted by its part in erf.
constexpr double kErfSingle[] = {-1.62790709,     -0.918443463,   -0.148329839,   0.0278753496,
                                 -0.000296805965, -0.00180586491, 0.000549656371, -5.87272149e-05};

// x P(x^2) / Q(x^2) for minimal relative error up to where erf rounds to 1.
Value* emit_fast_erf(const MathBasics& m, Value* x) {
  static constexpr double kP[] = {1.12837923,    0.190784305,    0.0527903512,
                                  0.00377962994, 0.000284808921, 2.04196522e-06};
  static constexpr double kQ[] = {
      1, 0.502410889, 0.114257731, 0.0149974804, 0.00116521737, 3.80040328e-05};
  x = m.clamp(x, -3.93, 3.93);
  Value* y = m.mul(x, x);
  return m.div(m.mul(x, m.polynomial(y, kP)), m.polynomial(y, kQ));
}

Value* emit_erf_single(const MathBasics& m, Value* x) {
  Value* size = m.clamp_max(m.abs(x), 3.93);
  Value* exponent = m.mul(size, m.polynomial(size, kErfSingle));
  const RoundedNumber n = m.round_product(exponent, 1);
  Value* p = emit_exp2m1(m, m.sub(exponent, n.value));
  Value* power = m.power_of_two(n, 0);
  Value* result = m.multiply_add(power, m.neg(p), m.sub(m.number(x, 1), power));
  return m.with_sign(result, x);
}

Value* emit_erf_double(const MathBasics& m, Value* x) {
  Value* size = m.clamp(m.abs(x), 0, 6);
  Value* square = m.mul(size, size);
  Value* small = m.mul(size, m.polynomial(square, kSmall));
  Value* t = m.div(m.sub(size, 3), m.add(size, 3));
  const ReducedExponent e = reduce_exponent(m, m.neg(square));
  Value* power = m.mul(emit_exp_of_remainder(m, e.remainder), m.power_of_two(e.n, 0));
  Value* large = m.sub(m.number(x, 1), m.mul(power, m.polynomial(t, kLarge)));
  return m.copysign(m.select(m.less(size, 1.0), small, large), x);
}

}  // namespace

Value* emit_erf(const MathBasics& m, Value* x) {
  if (MathBasics::is_double(x)) return emit_erf_double(m, x);
  return m.is_fast() ? emit_fast_erf(m, x) : emit_erf_single(m, x);
}

}  // namespace sluice
