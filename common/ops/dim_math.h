// Arithmetic on dims: on numbers when both are fixed, on expressions when one is symbolic; the
// result is unknown when one is unknown or the expression would become too long
// (ExpressionTable::stays_small). Fixed results saturate at the ends of int64; InferCall::give
// rejects those that are too large or negative.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

using Dims = std::vector<Dim>;
using Shape = std::optional<Dims>;  // nothing: even the rank is unknown

class DimMath {
 public:
  explicit DimMath(Module& module) : module_(module) {}

  Dim add(const Dim& a, const Dim& b) { return apply(ExpressionOp::kAdd, a, b); }
  Dim subtract(const Dim& a, const Dim& b) { return add(a, multiply(b, Dim::fixed(-1))); }
  Dim multiply(const Dim& a, const Dim& b);
  // Returns an unknown dim for a division by 0.
  Dim floor_divide(const Dim& a, const Dim& b) { return apply(ExpressionOp::kFloorDiv, a, b); }
  Dim ceil_divide(const Dim& a, const Dim& b) {
    return floor_divide(subtract(add(a, b), Dim::fixed(1)), b);
  }
  Dim minimum(const Dim& a, const Dim& b) { return apply(ExpressionOp::kMin, a, b); }
  Dim maximum(const Dim& a, const Dim& b) { return apply(ExpressionOp::kMax, a, b); }
  Dim add(const Dim& a, int64_t b) { return add(a, Dim::fixed(b)); }
  Dim multiply(const Dim& a, int64_t b) { return multiply(a, Dim::fixed(b)); }
  Dim floor_divide(const Dim& a, int64_t b) { return floor_divide(a, Dim::fixed(b)); }
  Dim ceil_divide(const Dim& a, int64_t b) { return ceil_divide(a, Dim::fixed(b)); }
  Dim product(std::span<const Dim> dims);

  // Must not be called for unknown dims.
  ExpressionId expression(const Dim& dim) { return *module_.dim_expression(dim); }
  Interval bounds(const Dim& dim) const;
  bool is_equal(const Dim& a, const Dim& b);      // proved
  bool is_differing(const Dim& a, const Dim& b);  // proved
  // Unifies two dims that must be equal: returns the more specific one, or nothing when they cannot
  // be equal. May raise the divisors of symbols.
  std::optional<Dim> unify(const Dim& a, const Dim& b);
  // Requires `dim` to be at least `low`, by raising the lows of symbols where that is equivalent.
  // Returns false when it is impossible.
  bool require_min(const Dim& dim, int64_t low);
  // Returns whether the dim is at least 1; where that is not known, tries to make it so by raising
  // the lows of open symbols.
  bool assume_positive(const Dim& dim);
  // Returns the dim that two dims broadcast to, or nothing when they cannot.
  std::optional<Dim> broadcast(const Dim& a, const Dim& b);

 private:
  bool is_cut(const Dim& cut, const Dim& whole);
  bool is_made_of(const Dim& made, const Dim& symbol);
  Dim apply(ExpressionOp op, const Dim& a, const Dim& b);

  Module& module_;
};

}  // namespace sluice
