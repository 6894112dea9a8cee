#include "common/loop/lower/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace sluice::loop {

Id real_f64(Lowering& l, double value) { return l.real(DType::kF64, value); }

Id from_size(Lowering& l, ExpressionId size) {
  if (const auto known = l.table().as_constant(size))
    return real_f64(l, static_cast<double>(*known));
  return l.cast(l.index_value(size), DType::kF64);
}

namespace {

// Computes f(a, b) while lowering where both are known.
template <typename F>
Id folded_binary(Lowering& l, ScalarOp op, Id a, Id b, F f) {
  const auto x = l.known_real(a), y = l.known_real(b);
  return x && y ? f(*x, *y) : l.scalar(op, a, b);
}

Id truth(Lowering& l, bool value) { return l.integer(DType::kBool, value ? 1 : 0); }

}  // namespace

Id add_f64(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kAdd, a, b,
                       [&](double x, double y) { return real_f64(l, x + y); });
}
Id sub_f64(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kSub, a, b,
                       [&](double x, double y) { return real_f64(l, x - y); });
}
Id mul_f64(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kMul, a, b,
                       [&](double x, double y) { return real_f64(l, x * y); });
}
Id div_f64(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kDiv, a, b,
                       [&](double x, double y) { return real_f64(l, x / y); });
}
Id less(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kLess, a, b,
                       [&](double x, double y) { return truth(l, x < y); });
}
Id less_or_equal(Lowering& l, Id a, Id b) {
  return folded_binary(l, ScalarOp::kLessOrEqual, a, b,
                       [&](double x, double y) { return truth(l, x <= y); });
}
Id floor(Lowering& l, Id a) {
  const auto known = l.known_real(a);
  return known ? real_f64(l, std::floor(*known)) : l.scalar(ScalarOp::kFloor, a);
}
Id absolute(Lowering& l, Id a) {
  const auto known = l.known_real(a);
  return known ? real_f64(l, std::abs(*known)) : l.scalar(ScalarOp::kAbs, a);
}
Id folded_select(Lowering& l, Id condition, Id yes, Id no) {
  if (const auto known = l.known_real(condition)) return *known != 0 ? yes : no;
  return yes == no ? yes : l.scalar(ScalarOp::kSelect, condition, yes, no);
}
Id clamp_f64(Lowering& l, Id x, Id low, Id high) {
  return folded_select(l, less(l, x, low), low, folded_select(l, less(l, high, x), high, x));
}
Id logical(Lowering& l, ScalarOp op, Id a, Id b) {
  const auto x = l.known_real(a), y = l.known_real(b);
  if (!x || !y) return l.scalar(op, a, b);
  const bool p = *x != 0, q = *y != 0;
  return truth(l, op == ScalarOp::kAnd ? p && q : op == ScalarOp::kOr ? p || q : p != q);
}

ExpressionId index_of(Lowering& l, Id place, ExpressionId extent) {
  if (l.table().as_constant(extent) == 1) return l.number(0);
  const ExpressionId last = l.table().subtract(extent, l.number(1));
  const Id whole = l.cast(place, DType::kI64);
  const Id inside = l.scalar(ScalarOp::kMax, l.scalar(ScalarOp::kMin, whole, l.index_value(last)),
                             l.integer(DType::kI64, 0));
  return l.as_index(inside, 0, std::max<int64_t>(l.table().bounds(last).high, 0));
}

Id cubic_weight(Lowering& l, Id distance, double a) {
  const Id d = absolute(l, distance), one = real_f64(l, 1);
  const auto term = [&](Id sum, double next) {
    return add_f64(l, mul_f64(l, sum, d), real_f64(l, next));
  };
  const Id slope = sub_f64(l, mul_f64(l, real_f64(l, a + 2), d), real_f64(l, a + 3));
  const Id near = add_f64(l, mul_f64(l, mul_f64(l, slope, d), d), one);
  const Id far = term(term(term(real_f64(l, a), -5 * a), 8 * a), -4 * a);
  return folded_select(l, less_or_equal(l, d, one), near,
                       folded_select(l, less(l, d, real_f64(l, 2)), far, real_f64(l, 0)));
}

Id linear_weight(Lowering& l, Id distance) {
  const Id weight = sub_f64(l, real_f64(l, 1), absolute(l, distance));
  return folded_select(l, less(l, weight, real_f64(l, 0)), real_f64(l, 0), weight);
}

}  // namespace sluice::loop
