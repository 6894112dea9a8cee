// Sine, cosine and tangent. x = n pi + r with |r| <= pi / 2 and an integral n (cosine: n - 1/2
// integral), reduced in several parts of pi (W. Cody and W. Waite, Software Manual for the
// Elementary Functions, 1980, chapter 8): each difference is exact, or is rounded where r is large
// against the parts that follow. Numbers above kLargeAngle take another way, in math_angle.cc.
#include "stages/subgraph-optimize/codegen/emit/math_angle.h"
#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// (sin(r) / r - 1) / r^2 in r^2 up to (pi / 2)^2.
constexpr double kSineSingle[] = {-0.166666597, 0.00833306927, -0.000198097769, 2.60609409e-06};
constexpr double kSineDouble[] = {-0.16666666666666666,    0.0083333333333332066,
                                  -0.00019841269841212479, 2.7557319211569084e-06,
                                  -2.505210690432146e-08,  1.6058940992914505e-10,
                                  -7.6430189962438192e-13, 2.7214140691806747e-15};
// Parts of pi, all positive so that -0 stays -0: products of f64's first three with numbers below
// 2^20 are exact.
constexpr double kSinglePi[] = {3.1415925025939941, 1.5099578831723193e-07, 1.078060505991553e-14};
constexpr double kDoublePi[] = {3.1415926534682512, 1.2154201012607932e-10, 4.0445324974223329e-21,
                                1.6956855320737799e-31};
constexpr double kOneOverPi = 0.31830988618379069;

ReducedAngle reduce_small(const MathBasics& m, Value* x, bool is_cosine) {
  const RoundedNumber n = is_cosine
                              ? m.round_product(m.multiply_add(x, kOneOverPi, m.number(x, -0.5)), 1)
                              : m.round_product(x, kOneOverPi);
  Value* multiple = is_cosine ? m.add(n.value, 0.5) : n.value;
  Value* remainder = x;
  for (const double part :
       MathBasics::is_double(x) ? Coefficients(kDoublePi) : Coefficients(kSinglePi))
    remainder = m.multiply_add(multiple, -part, remainder);
  return {remainder, m.bits(n.shifted)};
}

// Returns r + r square p, which without fused multiply-add is more exact than r (1 + square p). -0
// stays -0.
Value* sine_of_parts(const MathBasics& m, Value* r, Value* square, Value* p) {
  Value* size = m.abs(r);
  return m.with_sign(m.add(size, m.mul(m.mul(size, square), p)), r);
}

// Returns (-1)^parity sin(remainder).
Value* signed_sine(const MathBasics& m, const ReducedAngle& angle) {
  Value* r = angle.remainder;
  Value* square = m.mul(r, r);
  Value* p = m.polynomial(
      square, MathBasics::is_double(r) ? Coefficients(kSineDouble) : Coefficients(kSineSingle));
  Value* sine =
      m.has_fma() ? m.mul(r, m.multiply_add(p, square, 1.0)) : sine_of_parts(m, r, square, p);
  const auto top = static_cast<uint64_t>(MathBasics::by_type(r, 31, 63));
  Value* sign = m.ir().CreateShl(angle.parity, m.integer(r, top));
  return m.from_bits(m.ir().CreateXor(m.bits(sine), sign), r);
}

}  // namespace

Value* emit_sin(const MathBasics& m, Value* x) {
  return signed_sine(m, with_large_angles(m, x, reduce_small(m, x, false), false));
}

// cos(k pi + pi / 2 + r) = -(-1)^k sin r.
Value* emit_cos(const MathBasics& m, Value* x) {
  return m.neg(signed_sine(m, with_large_angles(m, x, reduce_small(m, x, true), true)));
}

Value* emit_tan(const MathBasics& m, Value* x) {
  Value* sine = emit_sin(m, x);
  return m.div(sine, emit_cos(m, x));
}

}  // namespace sluice
