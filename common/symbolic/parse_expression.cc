#include "common/symbolic/parse_expression.h"

namespace sluice::text {

// Applies one operation of a dimension; fails where the result would be too long.
Result<ExpressionId> ExpressionParser::apply(ExpressionOp op, ExpressionId a, ExpressionId b) {
  if (!table_.stays_small(op, a, b)) return lexer_.error("the expression is too long");
  return table_.make(op, a, b);
}

// Parses a sum: product (("+" | "-") product)*. "N -1" is a sum, too, though "-1" is one token.
Result<ExpressionId> ExpressionParser::parse_sum(int depth) {
  if (depth > ExpressionTable::kMaxDepth) return lexer_.error("the expression is nested too deep");
  SLUICE_ASSIGN(ExpressionId sum, parse_product(depth));
  while (lexer_.token().is("+") || lexer_.token().is("-") ||
         (lexer_.token().kind == TokenKind::kNumber && lexer_.token().text[0] == '-')) {
    const bool is_minus = lexer_.token().is("-");
    if (lexer_.token().kind == TokenKind::kMark) SLUICE_TRY(lexer_.advance());
    SLUICE_ASSIGN(ExpressionId next, parse_product(depth));
    if (is_minus) next = table_.multiply(table_.constant(-1), next);
    SLUICE_ASSIGN(sum, apply(ExpressionOp::kAdd, sum, next));
  }
  return sum;
}

Result<ExpressionId> ExpressionParser::parse_product(int depth) {
  SLUICE_ASSIGN(ExpressionId product, parse_factor(depth));
  while (lexer_.token().is("*")) {
    SLUICE_TRY(lexer_.advance());
    SLUICE_ASSIGN(const ExpressionId next, parse_factor(depth));
    SLUICE_ASSIGN(product, apply(ExpressionOp::kMul, product, next));
  }
  return product;
}

Result<ExpressionId> ExpressionParser::parse_factor(int depth) {
  if (lexer_.token().kind == TokenKind::kNumber) {
    SLUICE_ASSIGN(const int64_t value, lexer_.take_int("a number"));
    return table_.constant(value);
  }
  SLUICE_ASSIGN(const bool is_nested, lexer_.skip("("));
  if (is_nested) {
    SLUICE_ASSIGN(const ExpressionId inner, parse_sum(depth + 1));
    SLUICE_TRY(lexer_.expect(")"));
    return inner;
  }
  const size_t offset = lexer_.token().offset;
  const bool is_word = lexer_.token().kind == TokenKind::kWord;
  SLUICE_ASSIGN(const std::string name, lexer_.take_name("a dimension"));
  if (is_word && lexer_.token().is("(")) return parse_function(name, depth);
  const auto symbol = symbols_.find(name);
  if (symbol == symbols_.end())
    return lexer_.error_at(offset, fmt::format("there is no symbol '{}' above", name));
  return table_.symbol_expression(symbol->second);
}

Result<ExpressionId> ExpressionParser::parse_function(const std::string& name, int depth) {
  static const std::map<std::string, ExpressionOp> kFunctions = {
      {"floordiv", ExpressionOp::kFloorDiv},
      {"ceildiv", ExpressionOp::kCeilDiv},
      {"mod", ExpressionOp::kMod},
      {"min", ExpressionOp::kMin},
      {"max", ExpressionOp::kMax}};
  const auto function = kFunctions.find(name);
  if (function == kFunctions.end())
    return lexer_.error(fmt::format("there is no function '{}'", name));
  SLUICE_TRY(lexer_.expect("("));
  SLUICE_ASSIGN(const ExpressionId a, parse_sum(depth + 1));
  SLUICE_TRY(lexer_.expect(","));
  const size_t offset = lexer_.token().offset;
  SLUICE_ASSIGN(const ExpressionId b, parse_sum(depth + 1));
  SLUICE_TRY(lexer_.expect(")"));
  const bool divides =
      function->second != ExpressionOp::kMin && function->second != ExpressionOp::kMax;
  const auto divisor = table_.as_constant(b);
  if (divides && divisor && *divisor <= 0)
    return lexer_.error_at(offset, fmt::format("cannot divide by {}", *divisor));
  return apply(function->second, a, b);
}

}  // namespace sluice::text
