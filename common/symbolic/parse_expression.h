// Parses expressions of textual formats: what ExpressionTable::text prints.
#pragma once

#include <map>
#include <string>

#include "common/base/lexer.h"
#include "common/symbolic/expression.h"

namespace sluice::text {

// Parses a sum: product (("+" | "-") product)*. Products are of numbers, symbols, (…), floordiv(a,
// b), ceildiv(a, b), mod(a, b), min(a, b) and max(a, b).
class ExpressionParser {
 public:
  using Symbols = std::map<std::string, SymbolId>;  // by name
  ExpressionParser(Lexer& lexer, ExpressionTable& table, const Symbols& symbols)
      : lexer_(lexer), table_(table), symbols_(symbols) {}
  // Parses from the current token up to the first that is no part of the sum.
  Result<ExpressionId> parse() { return parse_sum(0); }

 private:
  Result<ExpressionId> apply(ExpressionOp op, ExpressionId a, ExpressionId b);
  Result<ExpressionId> parse_sum(int depth);
  Result<ExpressionId> parse_product(int depth);
  Result<ExpressionId> parse_factor(int depth);
  Result<ExpressionId> parse_function(const std::string& name, int depth);

  Lexer& lexer_;
  ExpressionTable& table_;
  const Symbols& symbols_;
};

}  // namespace sluice::text
