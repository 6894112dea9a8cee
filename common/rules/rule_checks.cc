#include "common/rules/rule_checks.h"

#include <algorithm>

#include "common/base/dtype.h"
#include "common/ops/op_table.h"
#include "common/rules/matcher.h"
#include "common/rules/places.h"
#include "common/rules/term.h"

namespace sluice::rules {
namespace {

using Form = Statement::Form;

constexpr std::string_view kFlagOperators[] = {"==", "!=", "<", "<=", ">", ">=", "and", "or"};

bool is_number(const Term& term) {
  return term.kind == Term::Kind::kInteger || term.kind == Term::Kind::kReal;
}

bool is_literal(const Term& term) {
  return is_number(term) || term.kind == Term::Kind::kText || term.kind == Term::Kind::kWord ||
         (term.kind == Term::Kind::kNegative && is_number(term.terms[0])) ||
         (term.kind == Term::Kind::kList && std::ranges::all_of(term.terms, is_literal));
}

class Checker {
 public:
  Checker(Rule& rule, const RuleFile& file, const text::Lexer& lexer)
      : rule_(rule), file_(file), lexer_(lexer), bound_(rule.values.size(), true) {}

  Result<void> run() {
    SLUICE_TRY(check_place());
    for (Pattern& pattern : rule_.patterns) {
      if (pattern.statements.empty()) return error(rule_.offset, "a pattern has no line");
      SLUICE_TRY(check_pattern(pattern));
      bind(pattern);
    }
    SLUICE_TRY(rule_.is_open ? check_outputs() : find_outputs());
    for (const Pattern& pattern : rule_.patterns) SLUICE_TRY(check_reach(pattern));
    for (const Term& condition : rule_.conditions) SLUICE_TRY(check_condition(condition));
    return rule_.is_open ? Result<void>() : check_replacement();
  }

  Result<void> run_on_closed(size_t first, size_t end) {
    for (Pattern& pattern : rule_.patterns) {
      pattern.makers.resize(rule_.values.size(), -1);
      bind(pattern);
    }
    for (size_t i = first; i < end; ++i) bound_[i] = true;
    std::vector<int32_t> wanted;
    wanted.swap(rule_.outputs);
    SLUICE_TRY(find_outputs());
    for (const int32_t output : wanted) {
      if (std::ranges::find(rule_.outputs, output) == rule_.outputs.end())
        return error(0, fmt::format("the replacement does not make {}", name(output)));
    }
    return check_replacement();
  }

 private:
  Error error(size_t offset, const std::string& message) const {
    return lexer_.error_at(offset, fmt::format("rule {}: {}", rule_.name, message));
  }
  std::string name(int32_t value) const { return "%" + rule_.values[static_cast<size_t>(value)]; }

  Result<void> check_place() const {
    if (!file_.at.empty() && find_place(file_.at) == nullptr) {
      return lexer_.error_at(file_.place_offset,
                             fmt::format("there is no place '{}'; there are {}, and after = PASS",
                                         file_.at, place_names()));
    }
    if (file_.after.empty() || is_place_of_rules(file_.after)) return {};
    return lexer_.error_at(
        file_.place_offset,
        fmt::format("neither sluice-preprocess nor sluice-optimize has a pass '{}'", file_.after));
  }

  Result<void> check_pattern(Pattern& pattern) {
    pattern.makers.assign(rule_.values.size(), -1);
    for (size_t i = 0; i < pattern.statements.size(); ++i) {
      const Statement& statement = pattern.statements[i];
      for (const int32_t result : statement.results) {
        if (result < 0) continue;
        int32_t& maker = pattern.makers[static_cast<size_t>(result)];
        if (maker >= 0)
          return error(statement.offset, fmt::format("{} is made twice", name(result)));
        maker = static_cast<int32_t>(i);
      }
    }
    for (size_t i = 0; i < pattern.statements.size(); ++i) {
      SLUICE_TRY(check_order(pattern, i));
      SLUICE_TRY(check_pattern_statement(pattern, pattern.statements[i]));
    }
    return {};
  }

  // Lines in order have no cycles.
  Result<void> check_order(const Pattern& pattern, size_t statement) const {
    for (const Operand& operand : pattern.statements[statement].operands) {
      if (operand.kind != Operand::Kind::kValue) continue;
      const int32_t maker = pattern.makers[static_cast<size_t>(operand.value)];
      if (maker >= static_cast<int32_t>(statement)) {
        return error(pattern.statements[statement].offset,
                     fmt::format("{} is made in this line or below, and read here: a pattern has "
                                 "no cycles, and its lines are in order",
                                 name(operand.value)));
      }
    }
    return {};
  }

  Result<void> check_pattern_statement(const Pattern& pattern, const Statement& statement) {
    if (std::ranges::all_of(statement.results, [](int32_t result) { return result < 0; }))
      return error(statement.offset, "a line needs a named result");
    for (const Operand& operand : statement.operands) {
      if (operand.kind != Operand::Kind::kTerm) continue;
      const bool is_list = operand.term.kind == Term::Kind::kList;
      if (!is_number(operand.term) &&
          !(is_list && std::ranges::all_of(operand.term.terms, is_number))) {
        return error(operand.term.offset, fmt::format("an operand of a pattern is a value, a "
                                                      "number or a list of numbers, not '{}'",
                                                      operand.term.spelling));
      }
    }
    if (statement.optional) SLUICE_TRY(check_optional(statement));
    if (statement.commuted && statement.operands.size() < 2)
      return error(statement.offset, "a commuted line has two operands");
    if (statement.form != Form::kNode) return check_form(pattern, statement);
    for (const AttributeTerm& attribute : statement.attributes) {
      if (!is_literal(attribute.term)) {
        return error(
            attribute.term.offset,
            fmt::format("an attribute of a pattern is a number, a word or a text, not '{}'",
                        attribute.term.spelling));
      }
    }
    for (const Op op : statement.ops) SLUICE_TRY(check_op(statement, op, true));
    return {};
  }

  Result<void> check_optional(const Statement& statement) const {
    if (statement.results.size() == 1 && !statement.operands.empty() &&
        statement.operands[0].kind == Operand::Kind::kValue && statement.form == Form::kNode)
      return {};
    return error(statement.offset,
                 "an optional line has one result and a first operand that takes its place");
  }

  // product(%a, %b) {factor = 0.5}, polynomial(%x) {coefficients = [0, 1]}.
  Result<void> check_form(const Pattern& pattern, const Statement& statement) {
    const bool is_product = statement.form == Form::kProduct;
    const std::string_view word = is_product ? "factor" : "coefficients";
    const bool has_values = !statement.operands.empty() &&
                            std::ranges::all_of(statement.operands, [](const Operand& operand) {
                              return operand.kind == Operand::Kind::kValue;
                            });
    if (statement.results.size() != 1 || !has_values || statement.has_more ||
        statement.operands.size() > kMaxFactors || (!is_product && statement.operands.size() != 1))
      return error(statement.offset,
                   fmt::format("a {} has one result and {}", is_product ? "product" : "polynomial",
                               is_product ? "values as factors, at most 6" : "one value"));
    for (const AttributeTerm& attribute : statement.attributes) {
      if (attribute.name != word)
        return error(attribute.term.offset,
                     fmt::format("'{}' is not known here, {} is", attribute.name, word));
    }
    if (is_product) return check_factor(statement);
    const bool has_list = statement.attributes.size() == 1 &&
                          statement.attributes[0].term.kind == Term::Kind::kList &&
                          std::ranges::all_of(statement.attributes[0].term.terms, is_number);
    if (!has_list)
      return error(statement.offset, "a polynomial has coefficients = [of 1, of x, of x², …]");
    return check_polynomial_operand(pattern, statement);
  }

  Result<void> check_factor(const Statement& statement) {
    if (statement.attributes.empty() || is_number(statement.attributes[0].term)) return {};
    const Term& factor = statement.attributes[0].term;
    if (factor.kind != Term::Kind::kWord || dtype_from_name(factor.text))
      return error(factor.offset, "a factor is a number, or a new name for one");
    if (std::ranges::find(rule_.numbers, factor.text) == rule_.numbers.end())
      rule_.numbers.push_back(factor.text);
    return {};
  }

  // Whatever x a polynomial is in must be found elsewhere.
  Result<void> check_polynomial_operand(const Pattern& pattern, const Statement& statement) const {
    const int32_t x = statement.operands[0].value;
    if (pattern.makers[static_cast<size_t>(x)] >= 0) return {};
    for (const Statement& other : pattern.statements) {
      if (other.form != Form::kPolynomial && reads(other, x)) return {};
    }
    return error(
        statement.offset,
        fmt::format("{} must be an operand of another line as well, which finds it", name(x)));
  }

  static bool reads(const Statement& statement, int32_t value) {
    return std::ranges::any_of(statement.operands, [&](const Operand& operand) {
      return operand.kind == Operand::Kind::kValue && operand.value == value;
    });
  }

  Result<void> check_op(const Statement& statement, Op op, bool is_pattern) const {
    if (op == Op::kForeign) {
      if (!has_types(file_)) return {};
      return error(statement.offset,
                   "an operator of another domain is only there before types are inferred: "
                   "at = before-infer-shape");
    }
    const OpRow* row = find_op(op);
    const std::string_view op_text = op_name(op);
    if (row == nullptr) return error(statement.offset, fmt::format("{} is no op", op_text));
    if ((row->flags & kControlFlow) != 0) {
      return error(statement.offset,
                   fmt::format("{} has bodies, which a rule has not; rules match the nodes inside "
                               "bodies as they do elsewhere",
                               op_text));
    }
    SLUICE_TRY(check_counts(statement, *row, is_pattern));
    for (const AttributeTerm& attribute : statement.attributes) {
      const auto found = std::ranges::find(row->attributes, attribute.name, &AttributeRow::name);
      if (found == row->attributes.end()) {
        return error(attribute.term.offset,
                     fmt::format("{} has no attribute '{}'", op_text, attribute.name));
      }
      if (found->kind > AttributeKind::kStrings)
        return error(attribute.term.offset, fmt::format("attribute '{}' of {} is a type, a tensor "
                                                        "or a body, which a rule cannot write",
                                                        attribute.name, op_text));
      if (!is_literal(attribute.term) || names_number(attribute.term)) continue;
      if (!attribute_of(evaluate_term(attribute.term, rule_, {}), op, attribute.name))
        return error(attribute.term.offset,
                     fmt::format("'{}' is no value of attribute '{}' of {}",
                                 attribute.term.spelling, attribute.name, op_text));
    }
    return {};
  }

  bool names_number(const Term& term) const {
    return term.kind == Term::Kind::kWord &&
           std::ranges::find(rule_.numbers, term.text) != rule_.numbers.end();
  }

  Result<void> check_counts(const Statement& statement, const OpRow& row, bool is_pattern) const {
    const auto operands = static_cast<int>(statement.operands.size());
    const auto results = static_cast<int>(statement.results.size());
    const bool has_few = operands < row.min_inputs && !(is_pattern && statement.has_more);
    if (has_few || (row.max_inputs >= 0 && operands > row.max_inputs)) {
      return error(statement.offset,
                   fmt::format("{} has {} operands here, and takes {}", op_name(row.op), operands,
                               range_text(row.min_inputs, row.max_inputs)));
    }
    if ((row.max_outputs >= 0 && results > row.max_outputs) ||
        (!is_pattern && results < row.min_outputs)) {
      return error(statement.offset,
                   fmt::format("{} has {} results here, and gives {}", op_name(row.op), results,
                               range_text(row.min_outputs, row.max_outputs)));
    }
    return {};
  }

  static std::string range_text(int low, int high) {
    if (high < 0) return fmt::format("{} or more", low);
    return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
  }

  // A name is bound where every pattern has it, outside of optional lines.
  void bind(const Pattern& pattern) {
    std::vector<bool> here(rule_.values.size(), false);
    for (const Statement& statement : pattern.statements) {
      for (const int32_t result : statement.results)
        if (result >= 0) here[static_cast<size_t>(result)] = true;
      for (size_t i = 0; i < statement.operands.size(); ++i) {
        const Operand& operand = statement.operands[i];
        if (operand.kind == Operand::Kind::kValue && (!statement.optional || i == 0))
          here[static_cast<size_t>(operand.value)] = true;
      }
    }
    for (size_t i = 0; i < here.size(); ++i) bound_[i] = bound_[i] && here[i];
  }

  bool is_made(int32_t value) const {
    return std::ranges::all_of(rule_.patterns, [&](const Pattern& pattern) {
      return pattern.makers[static_cast<size_t>(value)] >= 0;
    });
  }
  bool is_known(int32_t value) const {
    return std::ranges::any_of(rule_.patterns, [&](const Pattern& pattern) {
      return pattern.makers[static_cast<size_t>(value)] >= 0 ||
             std::ranges::any_of(pattern.statements, [&](const Statement& statement) {
               return reads(statement, value);
             });
    });
  }

  Result<void> find_outputs() {
    for (const Statement& statement : rule_.replacement) {
      for (const int32_t result : statement.results) {
        if (result < 0 || !is_known(result)) continue;
        if (!is_made(result)) {
          return error(statement.offset,
                       fmt::format("{} is not made by {}, so it cannot be replaced", name(result),
                                   rule_.patterns.size() == 1 ? "the pattern" : "every pattern"));
        }
        if (std::ranges::find(rule_.outputs, result) != rule_.outputs.end())
          return error(statement.offset, fmt::format("{} is made twice", name(result)));
        rule_.outputs.push_back(result);
      }
    }
    if (!rule_.outputs.empty()) return {};
    return error(rule_.offset,
                 "the replacement makes no value of the pattern, so it replaces nothing");
  }

  Result<void> check_outputs() const {
    for (const int32_t output : rule_.outputs) {
      if (static_cast<size_t>(output) >= bound_.size() || !is_made(output)) {
        return error(rule_.offset, fmt::format("{} is not made by every pattern, so it cannot be "
                                               "replaced",
                                               name(output)));
      }
    }
    return {};
  }

  // Lines that lead to no output would be left without a reason.
  Result<void> check_reach(const Pattern& pattern) const {
    std::vector<bool> reached(pattern.statements.size(), false);
    for (const int32_t output : rule_.outputs)
      reached[static_cast<size_t>(pattern.makers[static_cast<size_t>(output)])] = true;
    for (size_t i = pattern.statements.size(); i-- > 0;) {
      if (!reached[i]) {
        return error(pattern.statements[i].offset,
                     fmt::format("{} leads to no value that is replaced",
                                 name(*std::ranges::find_if(pattern.statements[i].results,
                                                            [](int32_t r) { return r >= 0; }))));
      }
      for (const Operand& operand : pattern.statements[i].operands) {
        if (operand.kind != Operand::Kind::kValue) continue;
        const int32_t maker = pattern.makers[static_cast<size_t>(operand.value)];
        if (maker >= 0) reached[static_cast<size_t>(maker)] = true;
      }
    }
    const Statement& root = pattern.statements[root_statement(rule_, pattern)];
    if (root.optional) return error(root.offset, "what is replaced cannot be optional");
    return {};
  }

  Result<void> check_condition(const Term& condition) const {
    const TermFunction* function =
        condition.kind == Term::Kind::kCall ? find_function(condition.text) : nullptr;
    const bool is_flag =
        condition.kind == Term::Kind::kNot || (function != nullptr && function->is_flag) ||
        (condition.kind == Term::Kind::kBinary &&
         std::ranges::find(kFlagOperators, condition.text) != std::end(kFlagOperators));
    const bool is_unknown = condition.kind == Term::Kind::kCall && function == nullptr;
    if (!is_flag && !is_unknown) {
      return error(condition.offset,
                   fmt::format("'{}' is neither true nor false", condition.spelling));
    }
    return check_term(condition);
  }

  Result<void> check_term(const Term& term) const {
    if (term.kind == Term::Kind::kCall) return check_call(term);
    if (term.kind == Term::Kind::kValue)
      return error(term.offset, fmt::format("{0} is a value, not a number: rank({0}), value({0}), "
                                            "dtype({0}) …",
                                            name(term.value)));
    const bool is_word = term.kind == Term::Kind::kWord && term.text != "true" &&
                         term.text != "false" && !names_number(term);
    if (is_word && !dtype_from_name(term.text) && !op_from_name(term.text)) {
      return error(term.offset,
                   fmt::format("'{}' is no function, dtype, op or number of this rule", term.text));
    }
    for (const Term& each : term.terms) SLUICE_TRY(check_term(each));
    return {};
  }

  Result<void> check_call(const Term& call) const {
    const TermFunction* function = find_function(call.text);
    if (function == nullptr) {
      return error(call.offset, fmt::format("there is no function '{}'; there are {}", call.text,
                                            function_names()));
    }
    if (call.terms.size() != function->operands)
      return error(call.offset, fmt::format("{} takes {} operands", call.text, function->operands));
    if (function->needs_types && !has_types(file_)) {
      return error(call.offset, fmt::format("types are not known at this place, so {} has no value",
                                            call.spelling));
    }
    for (size_t i = 0; i < call.terms.size(); ++i) {
      const Term& operand = call.terms[i];
      const bool wants_value = i < function->values;
      if (wants_value != (operand.kind == Term::Kind::kValue))
        return error(operand.offset, fmt::format("operand {} of {} is {}", i, call.text,
                                                 wants_value ? "a value" : "not a value"));
      if (wants_value) SLUICE_TRY(check_bound(operand.value, operand.offset));
      const bool is_name = operand.kind == Term::Kind::kWord || wants_value;
      if (!is_name) SLUICE_TRY(check_term(operand));
    }
    return {};
  }

  Result<void> check_bound(int32_t value, size_t offset) const {
    if (bound_[static_cast<size_t>(value)]) return {};
    return error(offset, fmt::format("{} is not {}", name(value),
                                     is_known(value) ? "in every pattern, or only in an optional "
                                                       "line"
                                                     : "a value of the pattern"));
  }

  Result<void> check_replacement() {
    std::vector<int32_t> made;
    const auto is_new = [&](int32_t value) { return std::ranges::find(made, value) != made.end(); };
    rule_.sources = rule_.outputs;
    for (const Statement& statement : rule_.replacement) {
      for (const Operand& operand : statement.operands) {
        if (operand.kind == Operand::Kind::kTerm) SLUICE_TRY(check_term(operand.term));
        if (operand.kind != Operand::Kind::kValue || is_new(operand.value)) continue;
        SLUICE_TRY(check_old(operand.value, statement));
      }
      for (const AttributeTerm& attribute : statement.attributes) {
        if (!is_literal(attribute.term) || names_number(attribute.term))
          SLUICE_TRY(check_term(attribute.term));
      }
      for (const Op op : statement.ops) SLUICE_TRY(check_op(statement, op, false));
      if (statement.like >= 0 &&
          (!bound_[static_cast<size_t>(statement.like)] || !is_made(statement.like))) {
        return error(statement.offset,
                     fmt::format("{} is made by no line of {}pattern", name(statement.like),
                                 rule_.patterns.size() == 1 ? "the " : "every "));
      }
      if (statement.ops.size() > 1)
        return error(statement.offset, "a line of a replacement has one op");
      if (!statement.ops.empty() && statement.ops[0] == Op::kForeign)
        return error(statement.offset, "a replacement has ops of this release only");
      for (const int32_t result : statement.results) {
        if (result < 0) continue;
        if (is_new(result))
          return error(statement.offset, fmt::format("{} is made twice", name(result)));
        made.push_back(result);
        if (statement.ops.empty()) set_source(result, statement.operands[0].value);
      }
    }
    return {};
  }

  // %y = %x: readers of the output read x instead.
  void set_source(int32_t output, int32_t value) {
    const auto found = std::ranges::find(rule_.outputs, output);
    if (found != rule_.outputs.end())
      rule_.sources[static_cast<size_t>(found - rule_.outputs.begin())] = value;
  }

  // A value of the pattern that the replacement reads must stay.
  Result<void> check_old(int32_t value, const Statement& reader) const {
    SLUICE_TRY(check_bound(value, reader.offset));
    for (const Pattern& pattern : rule_.patterns) {
      const int32_t maker = pattern.makers[static_cast<size_t>(value)];
      if (maker < 0) continue;
      return error(reader.offset,
                   fmt::format("{} goes away with the nodes that are replaced, so a replacement "
                               "cannot read it before it makes it",
                               name(value)));
    }
    return {};
  }

  static constexpr size_t kMaxFactors = 6;

  Rule& rule_;
  const RuleFile& file_;
  const text::Lexer& lexer_;
  std::vector<bool> bound_;  // by value
};

}  // namespace

Result<void> check_rule(Rule& rule, const RuleFile& file, const text::Lexer& lexer) {
  return Checker(rule, file, lexer).run();
}

Result<void> check_closed(Rule& rule, size_t first, size_t end, const RuleFile& file,
                          const text::Lexer& lexer) {
  return Checker(rule, file, lexer).run_on_closed(first, end);
}

}  // namespace sluice::rules
