// The parser of rules. Internal to common/rules.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/lexer.h"
#include "common/rules/rule.h"

namespace sluice::rules {

class RuleParser {
 public:
  // takes_open: rules may name their outputs instead of a replacement.
  RuleParser(std::string_view text, const std::string& name, bool takes_open = false)
      : lexer_(text, name), text_(text), takes_open_(takes_open) {}
  Result<RuleFile> parse();
  // Parses the lines of a replacement, up to the end of the text, into a rule that has none yet.
  Result<void> parse_replacement(Rule& rule);
  const text::Lexer& lexer() const { return lexer_; }

 private:
  Result<void> parse_place();
  Result<void> parse_rule();
  Result<void> parse_outputs();
  static void split_conditions(Term condition, std::vector<Term>& conditions);
  Result<void> parse_block(std::vector<Statement>& statements, bool is_pattern);
  Result<void> parse_statement(Statement& statement, bool is_pattern);
  Result<void> parse_same(Statement& statement);
  Result<void> parse_ops(Statement& statement, bool is_pattern);
  Result<void> parse_operands(Statement& statement, bool is_pattern);
  Result<Operand> parse_operand(bool is_pattern);
  Result<void> parse_attributes(Statement& statement);

  // Terms, by precedence (term_parser.cc).
  Result<Term> parse_term() { return parse_binary(0); }
  Result<Term> parse_binary(size_t precedence);
  Result<Term> parse_unary();
  Result<Term> parse_primary();
  Result<Term> parse_number();
  Result<void> parse_terms(std::string_view end, std::vector<Term>& terms);
  void spell(Term& term) const;

  Result<std::string> take_dashed(std::string_view what);
  int32_t value_index(const std::string& name);
  const text::Token& token() const { return lexer_.token(); }
  Result<void> advance() { return lexer_.advance(); }

  static constexpr int kDepthLimit = 100;
  static constexpr int kMaxOperators = 500;  // of the terms of one rule

  text::Lexer lexer_;
  std::string_view text_;
  bool takes_open_;
  RuleFile file_;
  Rule* rule_ = nullptr;
  std::map<std::string, int32_t> values_;  // of the rule, by name
  int depth_ = 0;
  int operators_ = 0;
};

}  // namespace sluice::rules
