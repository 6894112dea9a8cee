// For tests only.
#pragma once

#include <random>

#include "common/symbolic/expression.h"

namespace sluice {

// Makes a random expression over a table's symbols: sums, products, divisions, min and max.
inline ExpressionId random_expression(ExpressionTable& table, std::mt19937& random, int depth) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  if (depth == 0 || pick(0, 5) == 0) {
    if (pick(0, 3) == 0) return table.constant(pick(-4, 12));
    return table.symbol_expression(
        static_cast<SymbolId>(pick(0, static_cast<int64_t>(table.symbol_count()) - 1)));
  }
  const ExpressionId a = random_expression(table, random, depth - 1);
  const ExpressionId b = random_expression(table, random, depth - 1);
  static constexpr ExpressionOp kOps[] = {ExpressionOp::kAdd, ExpressionOp::kMul,
                                          ExpressionOp::kMin, ExpressionOp::kMax};
  const int64_t op = pick(0, 5);
  if (op >= 4)
    return table.make(op == 4 ? ExpressionOp::kFloorDiv : ExpressionOp::kMod, a,
                      table.constant(pick(1, 6)));
  return table.stays_small(kOps[op], a, b) ? table.make(kOps[op], a, b) : a;
}

}  // namespace sluice
