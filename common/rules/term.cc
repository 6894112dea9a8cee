#include "common/rules/term.h"

#include <algorithm>
#include <cmath>

#include "common/ops/op_table.h"
#include "common/pass/number.h"
#include "fmt/ranges.h"

namespace sluice::rules {
namespace {

TermValue known(auto value) { return {.content = std::move(value)}; }

// Numbers that are whole are compared and printed as such.
TermValue real_value(double number) { return known(number); }

bool are_equal(const TermValue& a, const TermValue& b) {
  const auto left = a.number(), right = b.number();
  const bool are_whole =
      std::holds_alternative<int64_t>(a.content) && std::holds_alternative<int64_t>(b.content);
  if (left && right) return *left == *right || (!are_whole && is_close(DType::kF32, *left, *right));
  const auto* list = std::get_if<TermList>(&a.content);
  const auto* other = std::get_if<TermList>(&b.content);
  if (list != nullptr && other != nullptr)
    return std::equal(list->begin(), list->end(), other->begin(), other->end(), are_equal);
  if (a.content.index() != b.content.index()) return false;
  if (const auto* text = std::get_if<std::string>(&a.content))
    return *text == std::get<std::string>(b.content);
  if (const auto* flag = std::get_if<bool>(&a.content)) return *flag == std::get<bool>(b.content);
  const auto* dim = std::get_if<TermValue::SymbolicDim>(&a.content);
  return dim != nullptr && *dim == std::get<TermValue::SymbolicDim>(b.content);
}

// Lists have a part that is not known where a dim is not.
bool is_whole(const TermValue& value) {
  const auto* list = std::get_if<TermList>(&value.content);
  return value.is_known() && (list == nullptr || std::all_of(list->begin(), list->end(), is_whole));
}

TermValue arithmetic(std::string_view op, const TermValue& a, const TermValue& b) {
  const auto left = a.number(), right = b.number();
  if (!left || !right) return {};
  const bool is_whole = std::holds_alternative<int64_t>(a.content) &&
                        std::holds_alternative<int64_t>(b.content) && op != "/";
  const double result = op == "+"   ? *left + *right
                        : op == "-" ? *left - *right
                        : op == "*" ? *left * *right
                                    : *left / *right;
  if (!is_whole || std::abs(result) > 0x1p53) return real_value(result);
  return known(static_cast<int64_t>(result));
}

TermValue compared(std::string_view op, const TermValue& a, const TermValue& b) {
  if (!is_whole(a) || !is_whole(b)) return {};
  if (op == "==") return known(are_equal(a, b));
  if (op == "!=") return known(!are_equal(a, b));
  const auto left = a.number(), right = b.number();
  if (!left || !right) return {};
  return known(op == "<"    ? *left < *right
               : op == "<=" ? *left <= *right
               : op == ">"  ? *left > *right
                            : *left >= *right);
}

TermValue evaluate_binary(const Term& term, const Rule& rule, const Bindings& bindings) {
  const TermValue left = evaluate_term(term.terms[0], rule, bindings);
  if (term.text == "and" || term.text == "or") {
    const auto* flag = std::get_if<bool>(&left.content);
    if (flag != nullptr && *flag == (term.text == "or")) return left;
    const TermValue right = evaluate_term(term.terms[1], rule, bindings);
    if (flag != nullptr) return right;
    const auto* other = std::get_if<bool>(&right.content);
    return other != nullptr && *other == (term.text == "or") ? right : TermValue{};
  }
  const TermValue right = evaluate_term(term.terms[1], rule, bindings);
  const bool is_sum = term.text.size() == 1 &&
                      std::string_view("+-*/").find(term.text[0]) != std::string_view::npos;
  return is_sum ? arithmetic(term.text, left, right) : compared(term.text, left, right);
}

TermValue evaluate_word(const Term& term, const Rule& rule, const Bindings& bindings) {
  if (term.text == "true" || term.text == "false") return known(term.text == "true");
  const auto name = std::find(rule.numbers.begin(), rule.numbers.end(), term.text);
  if (name == rule.numbers.end()) return known(term.text);  // the name of a dtype or an attribute
  const auto index = static_cast<size_t>(name - rule.numbers.begin());
  const auto& number = bindings.numbers[index];
  return number ? real_value(*number) : TermValue{};
}

TermValue evaluate_call(const Term& term, const Rule& rule, const Bindings& bindings) {
  const TermFunction* function = find_function(term.text);
  std::vector<TermValue> operands;
  std::vector<Value*> values;
  for (const Term& operand : term.terms) {
    const bool is_value = operand.kind == Term::Kind::kValue;
    values.push_back(is_value ? bindings.values[static_cast<size_t>(operand.value)] : nullptr);
    if (is_value && values.back() == nullptr) return {};
    const bool is_left_out =
        is_value && std::ranges::find(bindings.left_out, operand.value) != bindings.left_out.end();
    if (is_left_out && function->reads_node) return {};
    operands.push_back(is_value ? TermValue{} : evaluate_term(operand, rule, bindings));
  }
  return function->evaluate(operands, values);
}

// Adds what each call and named number in the term is.
void add_facts(const Term& term, const Rule& rule, const Bindings& bindings,
               std::vector<std::string>& facts) {
  const bool is_name =
      term.kind == Term::Kind::kWord &&
      std::find(rule.numbers.begin(), rule.numbers.end(), term.text) != rule.numbers.end();
  if (term.kind == Term::Kind::kCall || is_name) {
    const TermValue value = evaluate_term(term, rule, bindings);
    const std::string fact = fmt::format("{} is {}", term.spelling, shown_value(value));
    if (std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
    return;
  }
  for (const Term& each : term.terms) add_facts(each, rule, bindings, facts);
}

const AttributeRow* find_row(Op op, std::string_view name) {
  const OpRow* row = find_op(op);
  if (row == nullptr) return nullptr;
  const auto found = std::ranges::find(row->attributes, name, &AttributeRow::name);
  return found == row->attributes.end() ? nullptr : &*found;
}

AttributeKind kind_of(const TermValue& value) {
  if (std::holds_alternative<double>(value.content)) return AttributeKind::kFloat;
  if (std::holds_alternative<std::string>(value.content)) return AttributeKind::kString;
  const auto* list = std::get_if<TermList>(&value.content);
  if (list == nullptr) return AttributeKind::kInt;
  if (!list->empty() && std::holds_alternative<std::string>(list->front().content))
    return AttributeKind::kStrings;
  const bool has_real = std::any_of(list->begin(), list->end(), [](const TermValue& each) {
    return std::holds_alternative<double>(each.content);
  });
  return has_real ? AttributeKind::kFloats : AttributeKind::kInts;
}

std::optional<int64_t> whole(const TermValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.content)) return *flag ? 1 : 0;
  if (const auto* word = std::get_if<std::string>(&value.content)) {  // to = f16
    const auto dtype = dtype_from_name(*word);
    return dtype ? std::optional(static_cast<int64_t>(*dtype)) : std::nullopt;
  }
  const auto number = value.number();
  if (!number || std::trunc(*number) != *number || std::abs(*number) > 0x1p53) return std::nullopt;
  return static_cast<int64_t>(*number);
}

template <typename T, typename Read>
std::optional<AttributeValue> list_of(const TermValue& value, Read read) {
  const auto* list = std::get_if<TermList>(&value.content);
  if (list == nullptr) return std::nullopt;
  std::vector<T> elements;
  for (const TermValue& each : *list) {
    const auto element = read(each);
    if (!element) return std::nullopt;
    elements.push_back(static_cast<T>(*element));
  }
  return AttributeValue(std::move(elements));
}

// Whether a constant of the dtype is the number, up to rounding.
bool is_representable(double number, DType dtype) {
  if (dtype == DType::kF16 && std::isfinite(number)) return std::abs(number) <= 65504;
  if (dtype == DType::kUndefined || dtype_is_float(dtype)) return true;
  if (std::trunc(number) != number || !std::isfinite(number)) return false;
  const int bits = dtype_bits(dtype);
  const bool is_signed =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  const double high = std::min(std::ldexp(1, is_signed ? bits - 1 : bits), 0x1p53);
  return number < high && number >= (is_signed ? -high : 0);
}

}  // namespace

std::optional<double> TermValue::number() const {
  if (const auto* integer = std::get_if<int64_t>(&content)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&content)) return *real;
  return std::nullopt;
}

TermValue evaluate_term(const Term& term, const Rule& rule, const Bindings& bindings) {
  switch (term.kind) {
    case Term::Kind::kInteger:
      return known(static_cast<int64_t>(term.number));
    case Term::Kind::kReal:
      return real_value(term.number);
    case Term::Kind::kText:
      return known(term.text);
    case Term::Kind::kWord:
      return evaluate_word(term, rule, bindings);
    case Term::Kind::kValue:
      return {};
    case Term::Kind::kList: {
      TermList list;
      for (const Term& each : term.terms) list.push_back(evaluate_term(each, rule, bindings));
      return known(std::move(list));
    }
    case Term::Kind::kCall:
      return evaluate_call(term, rule, bindings);
    case Term::Kind::kNot: {
      const TermValue value = evaluate_term(term.terms[0], rule, bindings);
      const auto* flag = std::get_if<bool>(&value.content);
      return flag == nullptr ? TermValue{} : known(!*flag);
    }
    case Term::Kind::kNegative:
      return arithmetic("-", known(int64_t{0}), evaluate_term(term.terms[0], rule, bindings));
    case Term::Kind::kBinary:
      return evaluate_binary(term, rule, bindings);
  }
  return {};
}

bool condition_holds(const Term& condition, const Rule& rule, const Bindings& bindings) {
  const TermValue value = evaluate_term(condition, rule, bindings);
  const auto* flag = std::get_if<bool>(&value.content);
  return flag != nullptr && *flag;
}

std::string broken_condition(const Term& condition, const Rule& rule, const Bindings& bindings) {
  std::vector<std::string> facts;
  add_facts(condition, rule, bindings, facts);
  std::string text = fmt::format("{} does not hold", condition.spelling);
  if (!facts.empty()) text += fmt::format(": {}", fmt::join(facts, ", "));
  return text;
}

std::string shown_value(const TermValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.content)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value.content)) return *text;
  if (const auto* integer = std::get_if<int64_t>(&value.content))
    return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value.content)) return fmt::format("{}", *real);
  if (std::holds_alternative<TermValue::SymbolicDim>(value.content)) return "a symbol";
  const auto* list = std::get_if<TermList>(&value.content);
  if (list == nullptr) return "not known";
  std::vector<std::string> texts;
  for (const TermValue& each : *list) texts.push_back(shown_value(each));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::optional<AttributeValue> attribute_of(const TermValue& value, Op op, std::string_view name) {
  const AttributeRow* row = find_row(op, name);
  const auto number = value.number();
  const auto real = [](const TermValue& each) { return each.number(); };
  const auto text = [](const TermValue& each) {
    const auto* found = std::get_if<std::string>(&each.content);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  switch (row == nullptr ? kind_of(value) : row->kind) {
    case AttributeKind::kInt:
      if (const auto integer = whole(value)) return AttributeValue(*integer);
      return std::nullopt;
    case AttributeKind::kFloat:
      if (number) return AttributeValue(static_cast<float>(*number));
      return std::nullopt;
    case AttributeKind::kString:
      if (auto found = text(value)) return AttributeValue(std::move(*found));
      return std::nullopt;
    case AttributeKind::kInts:
      return list_of<int64_t>(value, whole);
    case AttributeKind::kFloats:
      return list_of<float>(value, real);
    case AttributeKind::kStrings:
      return list_of<std::string>(value, text);
    default:
      return std::nullopt;
  }
}

Value* constant_of(const TermValue& value, DType dtype, Graph& graph) {
  if (const auto number = value.number()) {
    if (!is_representable(*number, dtype)) return nullptr;
    const DType own = std::holds_alternative<double>(value.content) ? DType::kF32 : DType::kI64;
    return add_number(graph, dtype == DType::kUndefined ? own : dtype, *number);
  }
  const auto ints = list_of<int64_t>(value, whole);
  return ints ? &add_ints(graph, std::get<std::vector<int64_t>>(*ints)) : nullptr;
}

}  // namespace sluice::rules
