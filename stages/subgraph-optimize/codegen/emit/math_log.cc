// The natural logarithm and the inverse hyperbolic functions made of it. With x = m 2^e and m in
// [3/4, 3/2), log x = e ln 2 + log(1 + f), f = m - 1. f64 takes log(1 + f) = 2 artanh(f / (2 + f))
// (J.-M. Muller, Elementary Functions, 3rd edition, section 11.4); the polynomials are minimax.
#include <cmath>

#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// log(1 + f) / f on [-1/4, 1/2].
constexpr double kLogFast[] = {1.00000015,  -0.500002162, 0.333297573, -0.249767392,
                               0.201081179, -0.173728745, 0.14132356,  -0.0664563873};
// (log(1 + f) - f) / f^2 there.
constexpr double kLogSingle[] = {-0.5,        0.333334714, -0.249963596, 0.199822664,
                                 -0.16788733, 0.149052143, -0.121168286, 0.055621177};
// (2 artanh s - 2 s) / s^3 in s^2 there.
constexpr double kLogDouble[] = {0.66666666666672802, 0.39999999996111452, 0.28571429404499277,
                                 0.22222137733898151, 0.18186388039934478, 0.15249540207145604,
                                 0.15373289423806191};

// Returns e ln 2 + log(1 + f).
Value* log_of_parts(const MathBasics& m, Value* f, Value* e) {
  const TwoParts ln2 = log_of_two(f);
  if (!MathBasics::is_double(f) && m.is_fast())
    return m.multiply_add(e, ln2.high + ln2.low, m.mul(f, m.polynomial(f, kLogFast)));
  Value* low_part;
  if (MathBasics::is_double(f)) {
    Value* s = m.div(f, m.add(f, 2));
    Value* square = m.mul(s, s);
    low_part = m.neg(m.mul(s, m.sub(f, m.mul(square, m.polynomial(square, kLogDouble)))));
  } else {
    low_part = m.mul(m.mul(f, f), m.polynomial(f, kLogSingle));
  }
  low_part = m.multiply_add(e, ln2.low, low_part);
  return m.multiply_add(e, ln2.high, m.add(f, low_part));
}

// Returns log(1 + size) + (is_huge ? ln 2 : 0) with the sign of x. A huge size is less by 1.
Value* signed_log1p(const MathBasics& m, Value* size, Value* is_huge, Value* x) {
  Value* result = emit_log1p(m, size);
  result = m.add(result, m.select(is_huge, 0.69314718055994531, m.number(x, 0)));
  return m.copysign(result, x);
}

// Where the square of a number leaves no trace of 1, or would overflow.
double huge(const Value* x) { return MathBasics::by_type(x, 0x1p14, 0x1p28); }
double tiny(const Value* x) { return MathBasics::by_type(x, 0x1p-26, 0x1p-55); }

}  // namespace

Value* with_log_limits(const MathBasics& m, Value* x, Value* result) {
  const double infinity = MathBasics::infinity();
  Value* none = m.select(m.equal(x, 0.0), -infinity, m.number(x, std::nan("")));
  result = m.select(m.greater(x, 0.0), result, none);
  return m.select(m.equal(x, infinity), infinity, result);
}

Value* emit_log(const MathBasics& m, Value* x) {
  const SplitNumber parts = m.split(x);
  Value* result = log_of_parts(m, m.sub(parts.mantissa, 1), parts.exponent);
  return m.has_avx512() ? result : with_log_limits(m, x, result);
}

// The rounding error of u = 1 + x is exact (D. Knuth, The Art of Computer Programming 2, 4.2.2) and
// goes into f. 2^-e is computed as 2^(1 - e), which is 0 for the largest numbers.
Value* emit_log1p(const MathBasics& m, Value* x) {
  Value* u = m.add(x, 1);
  Value* part = m.sub(u, x);
  Value* error = m.add(m.sub(m.number(x, 1), part), m.sub(x, m.sub(u, part)));
  const SplitNumber parts = m.split(u);
  Value* power = m.power_of_two(m.rounded(m.neg(parts.exponent)), 1);
  Value* f = m.multiply_add(m.mul(error, 0.5), power, m.sub(parts.mantissa, 1));
  Value* result = with_log_limits(m, u, log_of_parts(m, f, parts.exponent));
  return m.select(m.less(m.abs(x), tiny(x)), x, result);
}

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))).
Value* emit_asinh(const MathBasics& m, Value* x) {
  Value* size = m.abs(x);
  Value* is_huge = m.greater(size, huge(x));
  Value* square = m.mul(size, size);
  Value* root = m.sqrt(m.add(square, 1));
  Value* sum = m.add(size, m.div(square, m.add(root, 1)));
  Value* result = signed_log1p(m, m.select(is_huge, m.sub(size, 1), sum), is_huge, x);
  return m.select(m.less(size, tiny(x)), x, result);
}

// With t = x - 1: log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(t (t + 2))).
Value* emit_acosh(const MathBasics& m, Value* x) {
  Value* is_huge = m.greater(x, huge(x));
  Value* t = m.sub(x, 1);
  Value* sum = m.add(t, m.sqrt(m.mul(t, m.add(t, 2))));
  Value* result = signed_log1p(m, m.select(is_huge, t, sum), is_huge, m.number(x, 1));
  return m.select(m.less(x, 1.0), std::nan(""), result);
}

// artanh a = log1p(2 a / (1 - a)) / 2.
Value* emit_atanh(const MathBasics& m, Value* x) {
  Value* size = m.abs(x);
  Value* argument = m.div(m.add(size, size), m.sub(m.number(x, 1), size));
  Value* result = m.copysign(m.mul(emit_log1p(m, argument), 0.5), x);
  return m.select(m.less(size, tiny(x)), x, result);
}

}  // namespace sluice
