// Arcsine, arccosine and arctangent, by the reductions of W. Cody and W. Waite, Software Manual for
// the Elementary Functions (1980), chapters 10 and 11, and minimax polynomials.
#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// (asin(s) / s - 1) / s^2 in s^2 up to 1/4.
constexpr double kSingleAsin[] = {0.166667521, 0.0749530941, 0.0454691499, 0.0241847821,
                                  0.0421583243};
constexpr double kDoubleAsin[] = {
    0.1666666666666676,   0.074999999999708661,  0.044642857174561068, 0.03038194270985212,
    0.022372214936503591, 0.017351612836736967,  0.013980811592476853, 0.01139897925178387,
    0.010779907386751518, 0.0037076123639113172, 0.021704738549770244, -0.020995510942115499,
    0.032626563206778751};
// (atan(t) / t - 1) / t^2 in t^2 up to tan(pi / 8)^2.
constexpr double kSingleAtan[] = {-0.333333164, 0.199985281, -0.14244391, 0.105991684,
                                  -0.0609004684};
constexpr double kDoubleAtan[] = {
    -0.33333333333333198,  0.19999999999953688,  -0.1428571428020155,   0.1111111078359845,
    -0.090908977605395139, 0.076920602623143472, -0.066631046631492913, 0.058478946969462549,
    -0.050393340600913682, 0.038065447731446413, -0.017908342216016386};

// pi / 2 in two parts.
TwoParts half_pi(const Value* x) {
  return MathBasics::by_type<TwoParts>(x, {1.5707963705062866, -4.3711390001862426e-08},
                                       {1.5707963267948966, 6.123233995736766e-17});
}

Coefficients by_type(const Value* x, Coefficients single, Coefficients wide) {
  return MathBasics::by_type(x, single, wide);
}

// asin(s) for s = |x| up to 1/2 and for s = sqrt((1 - |x|) / 2) above, which is half the angle to
// pi / 2.
struct HalfAngle {
  Value* is_small;
  Value* arcsine;
};

HalfAngle half_angle(const MathBasics& m, Value* x) {
  Value* size = m.abs(x);
  Value* is_small = m.ir().CreateFCmpOLE(size, m.number(x, 0.5));
  Value* distance = m.multiply_add(size, -0.5, m.number(x, 0.5));
  Value* square = m.select(is_small, m.mul(size, size), distance);
  Value* s = m.select(is_small, size, m.sqrt(distance));
  Value* p = m.polynomial(square, by_type(x, kSingleAsin, kDoubleAsin));
  return {is_small, m.multiply_add(m.mul(s, square), p, s)};
}

// Returns pi / 2 - x.
Value* complement(const MathBasics& m, Value* x) {
  const TwoParts right = half_pi(x);
  return m.sub(m.number(x, right.high), m.sub(x, right.low));
}

}  // namespace

Value* emit_asin(const MathBasics& m, Value* x) {
  const HalfAngle half = half_angle(m, x);
  Value* large = complement(m, m.add(half.arcsine, half.arcsine));
  return m.copysign(m.select(half.is_small, half.arcsine, large), x);
}

Value* emit_acos(const MathBasics& m, Value* x) {
  const HalfAngle half = half_angle(m, x);
  const TwoParts right = half_pi(x);
  Value* small = complement(m, m.copysign(half.arcsine, x));
  Value* large = m.add(half.arcsine, half.arcsine);
  Value* obtuse = m.sub(m.number(x, 2 * right.high), m.sub(large, 2 * right.low));
  return m.select(half.is_small, small, m.select(m.less(x, 0.0), obtuse, large));
}

// With a = |x|: above tan(3 pi / 8), atan a = pi / 2 - atan(1 / a); above tan(pi / 8), atan a =
// pi / 4 + atan((a - 1) / (a + 1)).
Value* emit_atan(const MathBasics& m, Value* x) {
  const TwoParts right = half_pi(x);
  Value* size = m.abs(x);
  Value* is_middle = m.greater(size, 0.41421356237309503);
  Value* is_large = m.greater(size, 2.4142135623730949);
  Value* top = m.select(is_middle, m.sub(size, 1), size);
  top = m.select(is_large, -1, top);
  Value* bottom = m.select(is_middle, m.add(size, 1), m.number(x, 1));
  Value* t = m.div(top, m.select(is_large, size, bottom));
  Value* square = m.mul(t, t);
  Value* p = m.polynomial(square, by_type(x, kSingleAtan, kDoubleAtan));
  Value* low = m.select(is_middle, right.low / 2, m.number(x, 0));
  low = m.select(is_large, right.low, low);
  Value* high = m.select(is_middle, right.high / 2, m.number(x, 0));
  high = m.select(is_large, right.high, high);
  Value* angle = m.add(t, m.multiply_add(m.mul(t, square), p, low));
  return m.copysign(m.add(high, angle), x);
}

}  // namespace sluice
