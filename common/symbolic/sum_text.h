// Sums as people write them: "H - 2" and "H - W", not "H + -2" and "H + -1*W".
#pragma once

#include <string>

#include "common/symbolic/expression.h"

namespace sluice {

// Returns true when the text of a term begins with '-'. The minimum int64 has no positive
// counterpart, so it stays as it is.
inline bool begins_negative(const ExpressionTable& table, ExpressionId id) {
  const Expression* e = &table[id];
  while (e->op == ExpressionOp::kAdd ||
         (e->op == ExpressionOp::kMul && table[e->a].op != ExpressionOp::kAdd))
    e = &table[e->a];
  return e->op == ExpressionOp::kConstant && e->value < 0 && e->value != INT64_MIN;
}

inline std::string sum_text(const std::string& sum, const std::string& term, bool is_negative) {
  if (!is_negative) return sum + " + " + term;
  return sum + " - " + term.substr(term.starts_with("-1*") ? 3 : 1);
}

}  // namespace sluice
