// Powers: x^y = e^(y log x), with log x as a sum of two floats (T. Dekker, A floating-point
// technique for extending the available precision, 1971) so that products up to the largest
// exponents keep their fraction. With x = m 2^e and s = (m - 1) / (m + 1), log m = 2 s + s^3 (2/3 +
// s^2 R(s^2)).
#include <cmath>

#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {
namespace {

using llvm::Value;

// (2 artanh s - 2 s - 2/3 s^3) / s^5 in s^2.
constexpr double kPowFast[] = {0.399781823, 0.300187439};
constexpr double kPowSingle[] = {0.40000394, 0.285254091, 0.238765374};
constexpr double kPowDouble[] = {0.39999999999999719, 0.28571428571579932, 0.22222222190780661,
                                 0.18181821568298745, 0.15384404518390501, 0.13341205169277348,
                                 0.11591446083524762, 0.12577058138015859};

// The sum of two floats, of which `low` is small.
struct Pair {
  Value* high = nullptr;
  Value* low = nullptr;
};

// Returns a + b exactly; |a| >= |b| or a = 0.
Pair sum(const MathBasics& m, Value* a, Value* b) {
  Value* high = m.add(a, b);
  return {high, m.sub(b, m.sub(high, a))};
}

// Returns the upper half of the bits of a mantissa.
Value* upper(const MathBasics& m, Value* a) {
  const uint64_t mask = ~uint64_t{0} << MathBasics::by_type(a, 12, 27);
  return m.from_bits(m.ir().CreateAnd(m.bits(a), m.integer(a, mask)), a);
}

// Returns a * b exactly (f64 without fused multiply-add: nearly).
Pair product(const MathBasics& m, Value* a, Value* b) {
  Value* high = m.mul(a, b);
  if (m.has_fma()) return {high, m.multiply_add(a, b, m.neg(high))};
  Value* a1 = upper(m, a);
  Value* b1 = upper(m, b);
  Value* a2 = m.sub(a, a1);
  Value* b2 = m.sub(b, b1);
  Value* low = m.add(m.sub(m.mul(a1, b1), high), m.add(m.mul(a1, b2), m.mul(a2, b1)));
  return {high, m.add(low, m.mul(a2, b2))};
}

// Returns (x - 1) / (x + 1).
Pair ratio(const MathBasics& m, Value* x) {
  Value* top = m.sub(x, 1);
  const Pair bottom = {m.add(x, 1), m.sub(x, m.sub(m.add(x, 1), 1))};
  Value* high = m.div(top, bottom.high);
  const Pair back = product(m, high, bottom.high);
  Value* remainder = m.sub(m.sub(top, back.high), back.low);
  remainder = m.sub(remainder, m.mul(high, bottom.low));
  return {high, m.div(remainder, bottom.high)};
}

// Returns s^2 (2/3 + s^2 R(s^2)). It is at most 1/37 of the 2 that it is added to, so f32 needs
// no second part.
Pair series(const MathBasics& m, const Pair& s) {
  Pair square = product(m, s.high, s.high);
  if (!MathBasics::is_double(s.high)) {
    Value* p =
        m.polynomial(square.high, m.is_fast() ? Coefficients(kPowFast) : Coefficients(kPowSingle));
    Value* inner = m.multiply_add(p, square.high, 2.0 / 3);
    return {m.mul(square.high, inner), nullptr};
  }
  square.low = m.multiply_add(m.add(s.high, s.high), s.low, square.low);
  constexpr double kTwoThirds = 2.0 / 3, kRemainder = 3.7007434154171882e-17;
  Value* low_part = m.multiply_add(m.polynomial(square.high, kPowDouble), square.high, kRemainder);
  const Pair inner = sum(m, m.number(low_part, kTwoThirds), low_part);
  Pair result = product(m, square.high, inner.high);
  result.low = m.add(result.low, m.mul(square.high, inner.low));
  result.low = m.add(result.low, m.mul(square.low, inner.high));
  return result;
}

// Returns log x for x >= 0.
Pair log_pair(const MathBasics& m, Value* x) {
  const SplitNumber parts = m.split(x);
  const Pair s = ratio(m, parts.mantissa);
  const Pair remainder = series(m, s);
  Pair factor = sum(m, m.number(x, 2), remainder.high);
  if (remainder.low != nullptr) factor.low = m.add(factor.low, remainder.low);
  Pair log = product(m, s.high, factor.high);
  log.low = m.add(log.low, m.multiply_add(s.high, factor.low, m.mul(s.low, factor.high)));
  const TwoParts ln2 = log_of_two(x);
  const Pair whole = sum(m, m.mul(parts.exponent, ln2.high), log.high);
  Value* low = m.add(whole.low, m.multiply_add(parts.exponent, ln2.low, log.low));
  return {with_log_limits(m, x, whole.high), low};
}

// Returns |x|^y but for its exceptions.
Value* power_of_size(const MathBasics& m, Value* size, Value* y) {
  const Pair log = log_pair(m, size);
  Pair exponent = product(m, y, log.high);
  exponent.low = m.multiply_add(y, log.low, exponent.low);
  // Infinite exponents have no second part.
  Value* is_usual = m.less(m.abs(exponent.high), MathBasics::by_type(y, 105.0, 747.0));
  Value* low = m.select(is_usual, exponent.low, m.number(y, 0));
  const ReducedExponent e = reduce_exponent(m, clamp_exponent(m, exponent.high));
  return m.scale(emit_exp_of_remainder(m, m.add(e.remainder, low)), e.n);
}

// Puts signs and exceptions right (ISO/IEC 9899:2018, F.10.4.4).
Value* with_exceptions(const MathBasics& m, Value* x, Value* y, Value* result) {
  auto& ir = m.ir();
  Value* half = m.mul(y, 0.5);
  Value* is_integer = m.equal(m.truncate(y), y);
  Value* is_odd = ir.CreateAnd(is_integer, ir.CreateFCmpUNE(m.truncate(half), half));
  result = m.select(m.equal(m.abs(x), 1.0), 1, result);
  result = m.select(is_odd, m.copysign(result, x), result);
  Value* is_negative = ir.CreateAnd(m.less(x, 0.0), m.greater(x, -MathBasics::infinity()));
  Value* has_none = ir.CreateAnd(is_negative, ir.CreateNot(is_integer));
  result = m.select(has_none, std::nan(""), result);
  Value* is_one = ir.CreateOr(m.equal(y, 0.0), m.equal(x, 1.0));
  return m.select(is_one, 1, result);
}

bool is_two(const Value* y) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant == nullptr) return false;
  if (y->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && number->isExactlyValue(2.0);
}

}  // namespace

// A square is one product, as in the reference evaluation.
Value* emit_pow(const MathBasics& m, Value* x, Value* y) {
  Value* square = m.mul(x, x);
  if (is_two(y)) return square;
  Value* result = with_exceptions(m, x, y, power_of_size(m, m.abs(x), y));
  return m.select(m.equal(y, 2.0), square, result);
}

}  // namespace sluice
