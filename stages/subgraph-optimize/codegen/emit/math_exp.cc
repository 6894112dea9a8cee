// The exponential function and what is made of it. The reduction is that of W. Cody and W. Waite,
// Software Manual for the Elementary Functions (1980), chapter 6; the polynomials are minimax.
#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2; the errors are those of e^r - 1.
constexpr double kExpFast[] = {0.499993831, 0.166664794, 0.0418745019, 0.00837280974};  // 4.5e-7
constexpr double kExpSingle[] = {0.5, 0.166665390, 0.041666612, 0.00836712308,
                                 0.00139168499};  // 1.4e-8
constexpr double kExpDouble[] = {0.5,
                                 0.16666666666666677,
                                 0.041666666666666713,
                                 0.0083333333333215683,
                                 0.001388888888886204,
                                 0.00019841269886295852,
                                 2.4801587371216767e-05,
                                 2.7557244029232735e-06,
                                 2.7557232676143798e-07,
                                 2.5109102696507264e-08,
                                 2.0927850505040035e-09};  // 7e-19

// (2^r - 1) / r on |r| <= 1/2, with a relative error of 1.4e-8.
constexpr double kExp2[] = {0.693147181,   0.240226507,   0.0555036905,
                            0.00961811706, 0.00133877303, 0.000154347863};

// e^r on |r| <= ln 2 / 2, with a relative error of 9.2e-8 and exact for 0.
constexpr double kExp[] = {1,
                           0.9999997019767761,
                           0.4999914765357971,
                           0.16667653620243073,
                           0.04189815744757652,
                           0.008289267309010029};

Coefficients remainder_coefficients(const MathBasics& m, const Value* x) {
  if (MathBasics::is_double(x)) return kExpDouble;
  return m.is_fast() ? Coefficients(kExpFast) : Coefficients(kExpSingle);
}

// Returns (power e^r - one), where power = 2^n one and |r| <= ln 2 / 2.
Value* scaled_expm1(const MathBasics& m, Value* r, Value* power, double one) {
  Value* p =
      m.multiply_add(m.mul(r, r), m.polynomial(r, remainder_coefficients(m, r)), r);  // e^r - 1
  return m.multiply_add(power, p, m.sub(power, one));
}

// Returns (e^x - 1) / 4 for x up to where sinh overflows: 2^n may overflow where the result does
// not. The lower limit is where e^x - 1 rounds to -1.
Value* quarter_expm1(const MathBasics& m, Value* x) {
  x = MathBasics::is_double(x) ? m.clamp(x, -38, 710.6) : m.clamp(x, -18, 89.7);
  const ReducedExponent e = reduce_exponent(m, x);
  return scaled_expm1(m, e.remainder, m.power_of_two(e.n, -2), 0.25);
}

// Returns x where f(x) rounds to x, since f(x) = x + O(x^2).
Value* or_tiny(const MathBasics& m, Value* x, Value* result) {
  const double limit = MathBasics::by_type(x, 0x1p-26, 0x1p-55);
  return m.select(m.less(m.abs(x), limit), x, result);
}

}  // namespace

Value* emit_exp2m1(const MathBasics& m, Value* x) { return m.mul(x, m.polynomial(x, kExp2)); }

TwoParts log_of_two(const Value* like) {
  return MathBasics::by_type<TwoParts>(like, {0.693145751953125, 1.428606765330187e-06},
                                       {0.69314718055966296, 2.8235290563031577e-13});
}

Value* clamp_exponent(const MathBasics& m, Value* x) {
  return MathBasics::is_double(x) ? m.clamp(x, -746, 710) : m.clamp(x, -104, 89);
}

ReducedExponent reduce_exponent(const MathBasics& m, Value* x) {
  const TwoParts ln2 = log_of_two(x);
  const RoundedNumber n = m.round_product(x, 1.4426950408889634);
  Value* remainder = m.multiply_add(n.value, -ln2.high, x);
  return {n, m.multiply_add(n.value, -ln2.low, remainder)};
}

Value* emit_exp_of_remainder(const MathBasics& m, Value* remainder) {
  if (!MathBasics::is_double(remainder)) return m.polynomial(remainder, kExp);
  Value* p = m.polynomial(remainder, remainder_coefficients(m, remainder));
  return m.multiply_add(m.multiply_add(p, remainder, 1.0), remainder, 1.0);
}

Value* emit_exp(const MathBasics& m, Value* x) {
  const ReducedExponent e = reduce_exponent(m, clamp_exponent(m, x));
  return m.scale(emit_exp_of_remainder(m, e.remainder), e.n);
}

Value* emit_expm1(const MathBasics& m, Value* x) {
  return or_tiny(m, x, m.mul(quarter_expm1(m, x), 4));
}

// e^x / (1 + e^x), which is 1 from the upper limit on.
Value* emit_sigmoid(const MathBasics& m, Value* x) {
  Value* limited = MathBasics::is_double(x) ? m.clamp(x, -746, 40) : m.clamp(x, -104, 20);
  const ReducedExponent reduced = reduce_exponent(m, limited);
  Value* e = m.scale_down(emit_exp_of_remainder(m, reduced.remainder), reduced.n);
  return m.div(e, m.add(e, 1));
}

// With h = (e^|x| - 1) / 2: sinh |x| = h + h / (2 h + 1), whose last term is 1/2 for large h.
Value* emit_sinh(const MathBasics& m, Value* x) {
  Value* half = m.mul(quarter_expm1(m, m.abs(x)), 2);
  Value* finite = m.clamp(half, 0, 0x1p60);
  Value* result = m.add(half, m.div(finite, m.add(m.add(finite, finite), 1)));
  return or_tiny(m, x, m.copysign(result, x));
}

// With h = e^|x| / 2: cosh x = h + 1 / (4 h).
Value* emit_cosh(const MathBasics& m, Value* x) {
  Value* limited = m.clamp(m.abs(x), 0, MathBasics::by_type(x, 90.0, 711.0));
  const ReducedExponent e = reduce_exponent(m, limited);
  Value* half = m.scale(emit_exp_of_remainder(m, e.remainder), m.rounded(m.sub(e.n.value, 1)));
  return m.add(half, m.div(m.number(x, 0.25), half));
}

// tanh x = t / (t + 2) with t = e^2x - 1. Performance takes x P(x^2) / Q(x^2) for minimal relative
// error up to where tanh rounds to 1.
Value* emit_tanh(const MathBasics& m, Value* x) {
  static constexpr double kP[] = {0.999999979, 0.133797182, 0.00349403487, 2.05834864e-05,
                                  1.33190788e-08};
  static constexpr double kQ[] = {1, 0.467130334, 0.0258710744, 0.000328309335, 7.76202232e-07};
  if (m.is_fast() && !MathBasics::is_double(x)) {
    Value* limited = m.clamp(x, -9.02, 9.02);
    Value* y = m.mul(limited, limited);
    return m.div(m.mul(limited, m.polynomial(y, kP)), m.polynomial(y, kQ));
  }
  Value* size = m.clamp_max(m.abs(x), MathBasics::by_type(x, 9.2, 20.0));
  Value* t = nullptr;
  if (MathBasics::is_double(x)) {
    const ReducedExponent e = reduce_exponent(m, m.add(size, size));
    t = scaled_expm1(m, e.remainder, m.power_of_two(e.n, 0), 1);
  } else {
    const double factor = 2 * 1.4426950408889634;
    const RoundedNumber n = m.round_product(size, factor);
    Value* p = emit_exp2m1(m, m.multiply_add(size, factor, m.neg(n.value)));
    Value* power = m.power_of_two(n, 0);
    t = m.multiply_add(power, p, m.sub(power, 1));
  }
  return m.with_sign(m.div(t, m.add(t, 2)), x);
}

}  // namespace sluice
