#include <charconv>

#include "common/rules/parser.h"

namespace sluice::rules {
namespace {

using text::Token;
using text::TokenKind;

// The operators from the loosest to the tightest.
const std::vector<std::string_view> kOperators[] = {
    {"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/"}};
constexpr size_t kSums = 3;

Term joined(std::string_view op, Term left, Term right) {
  Term term;
  term.kind = Term::Kind::kBinary;
  term.text = op;
  term.offset = left.offset;
  term.terms.push_back(std::move(left));
  term.terms.push_back(std::move(right));
  return term;
}

}  // namespace

// What a term is spelled like ends before the current token.
void RuleParser::spell(Term& term) const {
  std::string_view spelling = text_.substr(term.offset, token().offset - term.offset);
  if (spelling.find('\n') != std::string_view::npos)  // a comment may follow
    spelling = spelling.substr(0, spelling.find('#'));
  term.spelling = spelling.substr(0, spelling.find_last_not_of(" \t\r\n") + 1);
}

Result<Term> RuleParser::parse_binary(size_t precedence) {
  if (precedence == std::size(kOperators)) return parse_unary();
  SLUICE_ASSIGN(Term left, parse_binary(precedence + 1));
  while (true) {
    // "rank(%x) -1": the lexer takes the sign to the number.
    const bool is_difference =
        precedence == kSums && token().kind == TokenKind::kNumber && token().text.starts_with('-');
    std::string_view op = is_difference ? "+" : "";
    for (const std::string_view each : kOperators[precedence]) {
      if (token().is(each)) op = each;
    }
    if (op.empty()) return left;
    if (++operators_ > kMaxOperators)
      return lexer_.error(fmt::format("a rule has at most {} operators", kMaxOperators));
    if (!is_difference) SLUICE_TRY(advance());
    SLUICE_ASSIGN(Term right, parse_binary(precedence + 1));
    left = joined(op, std::move(left), std::move(right));
    spell(left);
  }
}

Result<Term> RuleParser::parse_unary() {
  const bool is_not = token().is("not");
  if (!is_not && !token().is("-")) return parse_primary();
  Term term;
  term.kind = is_not ? Term::Kind::kNot : Term::Kind::kNegative;
  term.offset = token().offset;
  SLUICE_TRY(advance());
  if (++depth_ > kDepthLimit) return lexer_.error("terms are nested too deep");
  // "not a == b" is not (a == b).
  SLUICE_ASSIGN(Term operand, is_not ? parse_binary(2) : parse_unary());
  --depth_;
  term.terms.push_back(std::move(operand));
  spell(term);
  return term;
}

Result<Term> RuleParser::parse_primary() {
  if (++depth_ > kDepthLimit) return lexer_.error("terms are nested too deep");
  Term term;
  term.offset = token().offset;
  term.text = token().text;
  if (token().kind == TokenKind::kNumber || token().is("inf") || token().is("nan")) {
    --depth_;
    return parse_number();
  }
  if (token().kind == TokenKind::kValue) {
    term.kind = Term::Kind::kValue;
    term.value = value_index(term.text);
    SLUICE_TRY(advance());
  } else if (token().kind == TokenKind::kString) {
    term.kind = Term::Kind::kText;
    SLUICE_TRY(advance());
  } else if (token().is("(")) {
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(term, parse_term());
    SLUICE_TRY(lexer_.expect(")"));
    --depth_;
    return term;
  } else if (token().is("[")) {
    term.kind = Term::Kind::kList;
    SLUICE_TRY(advance());
    SLUICE_TRY(parse_terms("]", term.terms));
  } else if (token().kind == TokenKind::kWord) {
    term.kind = Term::Kind::kWord;
    SLUICE_TRY(advance());
    SLUICE_ASSIGN(const bool is_call, lexer_.skip("("));
    if (is_call) {
      term.kind = Term::Kind::kCall;
      SLUICE_TRY(parse_terms(")", term.terms));
    }
  } else {
    return lexer_.unexpected("a value, a number, a word or '('");
  }
  --depth_;
  spell(term);
  return term;
}

Result<void> RuleParser::parse_terms(std::string_view end, std::vector<Term>& terms) {
  while (!token().is(end)) {
    if (!terms.empty()) SLUICE_TRY(lexer_.expect(","));
    SLUICE_ASSIGN(Term term, parse_term());
    terms.push_back(std::move(term));
  }
  return advance();
}

Result<Term> RuleParser::parse_number() {
  const std::string& digits = token().text;
  Term term;
  term.offset = token().offset;
  const bool is_real = digits.find_first_not_of("-0123456789") != std::string::npos;
  term.kind = is_real ? Term::Kind::kReal : Term::Kind::kInteger;
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), term.number);
  if (code != std::errc() || end != digits.data() + digits.size())
    return lexer_.unexpected("a number");
  if (!is_real && (term.number > 0x1p53 || term.number < -0x1p53))
    return lexer_.error("whole numbers of rules lie within 2^53");
  SLUICE_TRY(advance());
  spell(term);
  return term;
}

}  // namespace sluice::rules
