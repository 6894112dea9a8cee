// Evaluates terms of rules on a match.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/ir/module.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// What the names of a rule stand for.
struct Bindings {
  std::vector<Value*> values;                  // by index; null: not bound
  std::vector<std::optional<double>> numbers;  // by index
  // Values whose optional node is left out: the node that makes them is none of the rule.
  std::vector<int32_t> left_out = {};
};

struct TermValue;
using TermList = std::vector<TermValue>;
struct TermValue {
  // Nothing: not known. An ExpressionId is in a struct, since it is a number, too.
  struct SymbolicDim {
    ExpressionId id;
    bool operator==(const SymbolicDim&) const = default;
  };
  std::variant<std::monostate, bool, int64_t, double, std::string, SymbolicDim, TermList> content;

  bool is_known() const { return content.index() != 0; }
  std::optional<double> number() const;
};

// Returns an unknown value where something that the term needs is not known or of another kind.
TermValue evaluate_term(const Term& term, const Rule& rule, const Bindings& bindings);
bool condition_holds(const Term& condition, const Rule& rule, const Bindings& bindings);

// Returns "users(%p) == 1 does not hold: users(%p) is 2" for a condition that does not hold.
std::string broken_condition(const Term& condition, const Rule& rule, const Bindings& bindings);
std::string shown_value(const TermValue& value);

// Returns the value of an attribute in the kind that the op's table has, or nothing where the term
// has no value of that kind. Op::kForeign has no table: the kind is that of the term.
std::optional<AttributeValue> attribute_of(const TermValue& value, Op op, std::string_view name);
// Returns a constant of the term: lists are vectors of i64, numbers are scalars of the dtype, or,
// where that is not known, f32, whole ones i64. Returns null where it is no number.
Value* constant_of(const TermValue& value, DType dtype, Graph& graph);

// A function that terms may call.
struct TermFunction {
  std::string_view name;
  size_t operands;
  size_t values;     // the first operands, which are values of the rule
  bool needs_types;  // of values: not before types are inferred
  bool is_flag;      // true or false, for a condition of its own
  bool reads_node;   // the node that makes its value
  TermValue (*evaluate)(const std::vector<TermValue>& operands, const std::vector<Value*>& values);
};
const TermFunction* find_function(std::string_view name);
std::string function_names();

}  // namespace sluice::rules
