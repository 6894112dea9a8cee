// Asks which symbols an expression mentions.
#pragma once

#include "common/symbolic/expression.h"

namespace sluice {

// Returns true when is_wanted(SymbolId) holds for a symbol of the expression. Visits shared
// operands each time; a small expression has at most ExpressionTable::kMaxSize.
template <typename Predicate>
bool any_symbol(const ExpressionTable& expressions, ExpressionId id, const Predicate& is_wanted) {
  const Expression& e = expressions[id];
  if (e.op == ExpressionOp::kConstant) return false;
  if (e.op == ExpressionOp::kSymbol) return is_wanted(static_cast<SymbolId>(e.value));
  return any_symbol(expressions, e.a, is_wanted) || any_symbol(expressions, e.b, is_wanted);
}

}  // namespace sluice
