#include "common/rules/rule_parser.h"

#include <algorithm>
#include <charconv>

#include "common/base/near_names.h"
#include "common/rules/open_rules.h"
#include "common/rules/parser.h"
#include "common/rules/rule_checks.h"

namespace sluice::rules {

using text::Token;
using text::TokenKind;

namespace {

std::string near_ops_hint(const Token& token) {
  if (token.kind != TokenKind::kWord) return {};
  std::vector<std::string_view> names;
  for (int i = 0; i < op_count(); ++i) names.push_back(op_name(static_cast<Op>(i)));
  return near_names_hint(token.text, names, "docs/operators.md lists them");
}

// What people write who know other languages.
std::string condition_hint(const Token& token) {
  if (token.is("=")) return "== compares";
  if (token.is(",")) return "'and' joins conditions";
  return token.is("where") ? "conditions stand before the replacement" : std::string();
}

}  // namespace

// Parses words that "-" joins: "after-infer-shape". A word may follow a number: "conv-1x1-bias".
Result<std::string> RuleParser::take_dashed(std::string_view what) {
  if (token().kind != TokenKind::kWord) return lexer_.unexpected(what);
  std::string name = token().text;
  size_t end = token().offset + name.size();
  SLUICE_TRY(advance());
  while (token().offset == end && (token().is("-") || token().kind == TokenKind::kNumber ||
                                   token().kind == TokenKind::kWord)) {
    name += token().text;
    end += token().text.size();
    SLUICE_TRY(advance());
  }
  return name;
}

int32_t RuleParser::value_index(const std::string& name) {
  const auto [found, is_new] = values_.emplace(name, static_cast<int32_t>(rule_->values.size()));
  if (is_new) rule_->values.push_back(name);
  return found->second;
}

Result<RuleFile> RuleParser::parse() {
  SLUICE_TRY(advance());
  while (token().is("at") || token().is("after")) SLUICE_TRY(parse_place());
  while (token().kind != TokenKind::kEnd) SLUICE_TRY(parse_rule());
  if (file_.rules.empty()) return lexer_.error("there is no rule");
  return std::move(file_);
}

Result<void> RuleParser::parse_place() {
  if (!file_.at.empty() || !file_.after.empty())
    return lexer_.error("a file has one place; put rules for another one into another file");
  std::string& place = token().is("at") ? file_.at : file_.after;
  SLUICE_TRY(advance());
  SLUICE_TRY(lexer_.expect("="));
  file_.place_offset = token().offset;
  SLUICE_ASSIGN(place, take_dashed("a place"));
  return {};
}

Result<void> RuleParser::parse_rule() {
  if (!token().is("rule")) return lexer_.unexpected("'rule'");
  Rule rule;
  rule_ = &rule;
  values_.clear();
  operators_ = 0;
  rule.offset = token().offset;
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(rule.name, take_dashed("the name of a rule"));
  for (const Rule& other : file_.rules) {
    if (other.name == rule.name)
      return lexer_.error_at(rule.offset, fmt::format("there are two rules '{}'", rule.name));
  }
  SLUICE_TRY(lexer_.expect("{"));
  SLUICE_TRY(lexer_.expect("match"));
  bool is_more = true;
  while (is_more) {
    Pattern& pattern = rule.patterns.emplace_back();
    SLUICE_TRY(parse_block(pattern.statements, true));
    SLUICE_ASSIGN(is_more, lexer_.skip("or"));
  }
  SLUICE_ASSIGN(const bool has_conditions, lexer_.skip("where"));
  if (has_conditions) {
    SLUICE_ASSIGN(Term condition, parse_term());
    split_conditions(std::move(condition), rule.conditions);
  }
  rule.is_open = takes_open_ && token().is("outputs");
  if (rule.is_open) {
    SLUICE_TRY(parse_outputs());
  } else {
    if (!token().is("replace"))
      return lexer_.unexpected("'replace'").with_hint(condition_hint(token()));
    SLUICE_TRY(advance());
    SLUICE_TRY(parse_block(rule.replacement, false));
  }
  if (!token().is("}")) return lexer_.unexpected("'}'").with_hint(condition_hint(token()));
  SLUICE_TRY(advance());
  SLUICE_TRY(check_rule(rule, file_, lexer_));
  file_.rules.push_back(std::move(rule));
  return {};
}

// Parses: outputs %y, %z.
Result<void> RuleParser::parse_outputs() {
  bool is_more = true;
  while (is_more) {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const Token name, lexer_.take(TokenKind::kValue, "a value"));
    rule_->outputs.push_back(value_index(name.text));
    is_more = token().is(",");
  }
  return {};
}

Result<void> RuleParser::parse_replacement(Rule& rule) {
  rule_ = &rule;
  for (const std::string& name : rule.values)
    values_.emplace(name, static_cast<int32_t>(values_.size()));
  SLUICE_TRY(advance());
  while (token().kind != TokenKind::kEnd)
    SLUICE_TRY(parse_statement(rule.replacement.emplace_back(), false));
  return {};
}

// Conditions joined by "and" are told apart, so that the first that fails can be named.
void RuleParser::split_conditions(Term condition, std::vector<Term>& conditions) {
  if (condition.kind == Term::Kind::kBinary && condition.text == "and") {
    split_conditions(std::move(condition.terms[0]), conditions);
    split_conditions(std::move(condition.terms[1]), conditions);
    return;
  }
  conditions.push_back(std::move(condition));
}

Result<void> RuleParser::parse_block(std::vector<Statement>& statements, bool is_pattern) {
  SLUICE_TRY(lexer_.expect("{"));
  while (!token().is("}")) {
    Statement& statement = statements.emplace_back();
    SLUICE_TRY(parse_statement(statement, is_pattern));
  }
  return advance();
}

// Parses: %y, %z = Op|Op(operands) {attributes} commuted optional shared.
Result<void> RuleParser::parse_statement(Statement& statement, bool is_pattern) {
  statement.offset = token().offset;
  bool is_more = true;
  while (is_more) {
    SLUICE_ASSIGN(const bool is_unnamed, lexer_.skip("_"));
    if (is_unnamed) {
      statement.results.push_back(-1);
    } else {
      if (token().kind != TokenKind::kValue) {
        return lexer_.unexpected("a value or '}'")
            .with_hint(is_pattern ? "a line begins with its results, \"%y = …\", and may end with "
                                    "commuted, optional, shared"
                                  : "a line begins with its results: \"%y = …\"");
      }
      statement.results.push_back(value_index(token().text));
      SLUICE_TRY(advance());
    }
    SLUICE_ASSIGN(is_more, lexer_.skip(","));
  }
  SLUICE_TRY(lexer_.expect("="));
  if (!is_pattern && token().kind == TokenKind::kValue) return parse_same(statement);
  SLUICE_TRY(parse_ops(statement, is_pattern));
  SLUICE_TRY(parse_operands(statement, is_pattern));
  if (token().is("{")) SLUICE_TRY(parse_attributes(statement));
  SLUICE_ASSIGN(const bool is_like, lexer_.skip(is_pattern ? "" : "like"));
  if (is_like) {
    SLUICE_ASSIGN(const Token name, lexer_.take(TokenKind::kValue, "a value"));
    statement.like = value_index(name.text);
  }
  const std::pair<std::string_view, bool*> marks[] = {{"commuted", &statement.commuted},
                                                      {"optional", &statement.optional},
                                                      {"shared", &statement.shared}};
  for (bool was_mark = is_pattern; was_mark;) {
    was_mark = false;
    for (const auto& [word, mark] : marks) {
      SLUICE_ASSIGN(const bool is_it, lexer_.skip(word));
      *mark = *mark || is_it;
      was_mark = was_mark || is_it;
    }
  }
  return {};
}

// Parses the right side of %y = %x in a replacement: an Identity that makes no node.
Result<void> RuleParser::parse_same(Statement& statement) {
  if (statement.results.size() != 1 || statement.results[0] < 0)
    return lexer_.error("one name stands before '= %value'");
  SLUICE_ASSIGN(const Token name, lexer_.take(TokenKind::kValue, "a value"));
  statement.operands.push_back(
      {.kind = Operand::Kind::kValue, .value = value_index(name.text), .term = {}});
  return {};
}

Result<void> RuleParser::parse_ops(Statement& statement, bool is_pattern) {
  if (token().kind == TokenKind::kString) {
    if (token().text.find("::") == std::string::npos)
      return lexer_.error("an operator of another domain is \"DOMAIN::NAME\"");
    statement.foreign = token().text;
    statement.ops.push_back(Op::kForeign);
    return advance();
  }
  if (is_pattern && (token().is("product") || token().is("polynomial"))) {
    statement.form =
        token().is("product") ? Statement::Form::kProduct : Statement::Form::kPolynomial;
    return advance();
  }
  bool is_more = true;
  while (is_more) {
    const auto op = op_from_name(token().text);
    if (token().kind != TokenKind::kWord || !op || *op == Op::kForeign) {
      return lexer_
          .unexpected(is_pattern ? "an op of this release, product, polynomial, or \"DOMAIN::NAME\""
                                 : "an op of this release")
          .with_hint(near_ops_hint(token()));
    }
    statement.ops.push_back(*op);
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(is_more, lexer_.skip("|"));
  }
  return {};
}

Result<void> RuleParser::parse_operands(Statement& statement, bool is_pattern) {
  SLUICE_TRY(lexer_.expect("("));
  while (!token().is(")")) {
    if (statement.has_more) return lexer_.error("'*' is the last operand");
    if (!statement.operands.empty()) SLUICE_TRY(lexer_.expect(","));
    if (is_pattern && token().is("*")) {
      statement.has_more = true;
      SLUICE_TRY(advance());
      continue;
    }
    SLUICE_ASSIGN(Operand operand, parse_operand(is_pattern));
    statement.operands.push_back(std::move(operand));
  }
  return advance();
}

Result<Operand> RuleParser::parse_operand(bool is_pattern) {
  Operand operand;
  SLUICE_ASSIGN(const bool is_absent, lexer_.skip("_"));
  if (is_absent) return operand;
  if (is_pattern && token().is("?")) {
    operand.kind = Operand::Kind::kAnything;
    SLUICE_TRY(advance());
    return operand;
  }
  SLUICE_ASSIGN(operand.term, parse_term());
  operand.kind =
      operand.term.kind == Term::Kind::kValue ? Operand::Kind::kValue : Operand::Kind::kTerm;
  operand.value = operand.term.value;
  return operand;
}

Result<void> RuleParser::parse_attributes(Statement& statement) {
  SLUICE_TRY(advance());
  for (bool first = true; !token().is("}"); first = false) {
    if (!first) SLUICE_TRY(lexer_.expect(","));
    AttributeTerm attribute;
    const size_t offset = token().offset;
    SLUICE_ASSIGN(attribute.name, lexer_.take_name("the name of an attribute"));
    for (const AttributeTerm& other : statement.attributes) {
      if (other.name == attribute.name)
        return lexer_.error_at(offset, fmt::format("'{}' stands twice", attribute.name));
    }
    SLUICE_TRY(lexer_.expect("="));
    if (token().kind == TokenKind::kGraph)
      return lexer_.error("a rule has no graphs: bodies of control flow are matched on their own");
    SLUICE_ASSIGN(attribute.term, parse_term());
    statement.attributes.push_back(std::move(attribute));
  }
  return advance();
}

namespace {

Result<RuleFile> parse_file(std::string_view text, const std::string& name, bool takes_open) {
  if (text.size() > kMaxRuleBytes) {
    return make_error(ErrorCode::kLimit, "{}: {} bytes, a file of rules has at most {}", name,
                      text.size(), kMaxRuleBytes);
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return make_error(ErrorCode::kBadText, "{}:1:1: the file begins with a byte order mark", name)
        .with_hint("save it without one");
  }
  SLUICE_ASSIGN(RuleFile file, RuleParser(text, name, takes_open).parse());
  file.path = name;
  file.name = name.substr(name.find_last_of('/') + 1);
  file.text = text;
  file.digest = sha256(text);
  return file;
}

}  // namespace

Result<RuleFile> parse_rules(std::string_view text, const std::string& name) {
  return parse_file(text, name, false);
}

Result<RuleFile> parse_open_rules(std::string_view text, const std::string& name) {
  return parse_file(text, name, true);
}

Result<Rule> close_rule(const RuleFile& file, const Rule& open, const OwnReplacement& own) {
  Rule rule = open;
  rule.is_open = false;
  for (const auto& [name, value] : own.values) rule.values.push_back(name);
  const size_t bound = rule.values.size();
  RuleParser parser(own.lines, file.path);
  SLUICE_TRY(parser.parse_replacement(rule));
  SLUICE_TRY(check_closed(rule, bound - own.values.size(), bound, file, parser.lexer()));
  return rule;
}

}  // namespace sluice::rules
