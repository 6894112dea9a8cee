#include "common/ops/dim_math.h"

#include <algorithm>

namespace sluice {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t apply_fixed(ExpressionOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case ExpressionOp::kAdd:
      if (!__builtin_add_overflow(a, b, &result)) return result;
      return a > 0 ? INT64_MAX : INT64_MIN;
    case ExpressionOp::kMul:
      if (!__builtin_mul_overflow(a, b, &result)) return result;
      return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    case ExpressionOp::kFloorDiv:
      return floor_quotient(a, b);
    case ExpressionOp::kMin:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

}  // namespace

Dim DimMath::apply(ExpressionOp op, const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (op == ExpressionOp::kFloorDiv && b == Dim::fixed(0)) return Dim::unknown();
  if (a.is_fixed() && b.is_fixed()) return Dim::fixed(apply_fixed(op, a.value, b.value));
  const ExpressionId left = expression(a);
  const ExpressionId right = expression(b);
  if (!module_.expressions.stays_small(op, left, right)) return Dim::unknown();
  if (op == ExpressionOp::kFloorDiv) module_.expressions.assume_positive(right);
  return module_.make_dim(module_.expressions.make_simple(op, left, right));
}

Dim DimMath::multiply(const Dim& a, const Dim& b) {
  if (a == Dim::fixed(0) || b == Dim::fixed(0)) return Dim::fixed(0);
  if (a == Dim::fixed(1)) return b;
  if (b == Dim::fixed(1)) return a;
  return apply(ExpressionOp::kMul, a, b);
}

Dim DimMath::product(std::span<const Dim> dims) {
  if (std::find(dims.begin(), dims.end(), Dim::fixed(0)) != dims.end()) return Dim::fixed(0);
  Dim result = Dim::fixed(1);
  for (const Dim& dim : dims) result = multiply(result, dim);
  return result;
}

Interval DimMath::bounds(const Dim& dim) const {
  if (dim.is_fixed()) return {dim.value, dim.value};
  if (dim.is_unknown()) return {0, INT64_MAX};
  const Interval range = module_.expressions.bounds(static_cast<ExpressionId>(dim.value));
  return {std::max<int64_t>(range.low, 0), range.high};  // a dim is never negative
}

bool DimMath::is_equal(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return false;
  if (a.is_fixed() && b.is_fixed()) return a.value == b.value;
  return module_.expressions.prove_equal(expression(a), expression(b));
}

bool DimMath::is_differing(const Dim& a, const Dim& b) {
  const Interval left = bounds(a);
  const Interval right = bounds(b);
  if (left.high < right.low || right.high < left.low) return true;
  if (!a.is_expression() || !b.is_expression()) return false;
  const Interval difference =
      module_.expressions.bounds(module_.expressions.subtract(expression(a), expression(b)));
  return difference.low > 0 || difference.high < 0;
}

std::optional<Dim> DimMath::unify(const Dim& a, const Dim& b) {
  if (a == b || b.is_unknown()) return a;
  if (a.is_unknown()) return b;
  if (is_differing(a, b)) return std::nullopt;
  if (a.is_fixed()) return a;
  if (b.is_fixed()) return b;
  module_.expressions.require_equal(expression(a), expression(b));
  return module_.make_dim(module_.expressions.renormalize(expression(a)));
}

bool DimMath::require_min(const Dim& dim, int64_t low) {
  if (dim.is_unknown()) return true;
  return dim.is_fixed() ? dim.value >= low : module_.expressions.require_min(expression(dim), low);
}

// Returns true when `cut` is min(whole, number).
bool DimMath::is_cut(const Dim& cut, const Dim& whole) {
  const ExpressionTable& expressions = module_.expressions;
  const Expression& minimum = expressions[expression(cut)];
  if (minimum.op != ExpressionOp::kMin) return false;
  const ExpressionId id = expression(whole);
  return (minimum.a == id && expressions.as_constant(minimum.b)) ||
         (minimum.b == id && expressions.as_constant(minimum.a));
}

// Returns true when `symbol` is a symbol that occurs in the expression `made`.
bool DimMath::is_made_of(const Dim& made, const Dim& symbol) {
  const ExpressionTable& expressions = module_.expressions;
  const ExpressionId id = expression(symbol);
  if (expressions[id].op != ExpressionOp::kSymbol) return false;
  bool is_found = false;
  std::vector<ExpressionId> open = {expression(made)};
  while (!open.empty()) {
    const ExpressionId next = open.back();
    open.pop_back();
    const Expression& e = expressions[next];
    // The broadcast of two sizes is not computed from them in this sense.
    const bool is_broadcast = e.op == ExpressionOp::kMax && !expressions.as_constant(e.a) &&
                              !expressions.as_constant(e.b);
    if (is_broadcast) return false;
    is_found = is_found || next == id;
    if (e.op != ExpressionOp::kConstant && e.op != ExpressionOp::kSymbol)
      open.insert(open.end(), {e.a, e.b});
  }
  return is_found;
}

bool DimMath::assume_positive(const Dim& dim) {
  if (dim.is_expression()) return module_.expressions.assume_positive(expression(dim));
  return dim.is_fixed() && dim.value >= 1;
}

std::optional<Dim> DimMath::broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim::fixed(1)) return a;
  if (a == Dim::fixed(1)) return b;
  if (a.is_fixed() && b.is_fixed()) return std::nullopt;
  if (a.is_fixed())
    return bounds(b).low > 1 && is_differing(a, b) ? std::nullopt : std::optional(a);
  if (b.is_fixed()) return broadcast(b, a);
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  const bool one_is_one = bounds(a).high <= 1 || bounds(b).high <= 1;
  if (!one_is_one && module_.expressions.require_equal(expression(a), expression(b))) {
    return module_.make_dim(module_.expressions.renormalize(expression(a)));
  }
  const bool neither_is_one = bounds(a).low > 1 && bounds(b).low > 1;
  if (neither_is_one) return is_differing(a, b) ? std::nullopt : std::optional(a);
  // Valid shapes have both equal or one of them 1. For a size and its minimum with a number, the
  // valid sizes are below that number.
  if (is_cut(b, a)) return a;
  if (is_cut(a, b)) return b;
  // A size and a size computed from it, such as the rows of a table of positions, are meant to be
  // equal, unless they can never be. A size 1 that is valid only by broadcasting is rejected when
  // the model runs.
  const bool may_be_equal = !is_differing(a, b);
  if (may_be_equal && is_made_of(b, a)) return a;
  if (may_be_equal && is_made_of(a, b)) return b;
  // Otherwise the result is the larger one, or 0 when one is 0.
  const Dim larger = maximum(a, b);
  if (assume_positive(a) && assume_positive(b)) return larger;
  return multiply(larger, minimum(minimum(a, b), Dim::fixed(1)));
}

}  // namespace sluice
