// The functions of terms, in one table.
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "common/ops/op_table.h"
#include "common/pass/number.h"
#include "common/pass/reduction_axes.h"
#include "common/rules/term.h"

namespace sluice::rules {
namespace {

using Operands = std::vector<TermValue>;
using Values = std::vector<Value*>;

TermValue made(auto value) { return {.content = std::move(value)}; }

TermValue dim_value(const Dim& dim) {
  if (dim.is_fixed()) return made(dim.value);
  if (dim.is_expression())
    return made(TermValue::SymbolicDim{static_cast<ExpressionId>(dim.value)});
  return {};
}

bool is_ranked(const Value& value) { return value.type().is_tensor() && value.type().ranked; }

// Returns the dim that the second operand names, also from the end, or null.
const Dim* dim_at(const Operands& operands, const Values& values) {
  const auto axis = operands[1].number();
  if (!axis || !is_ranked(*values[0])) return nullptr;
  const std::vector<Dim>& dims = values[0]->type().dims;
  const auto index = static_cast<int64_t>(*axis) + (*axis < 0 ? values[0]->type().rank() : 0);
  return index < 0 || index >= static_cast<int64_t>(dims.size())
             ? nullptr
             : &dims[static_cast<size_t>(index)];
}

TermValue rank(const Operands&, const Values& values) {
  return is_ranked(*values[0]) ? made(values[0]->type().rank()) : TermValue{};
}

TermValue dim(const Operands& operands, const Values& values) {
  const Dim* found = dim_at(operands, values);
  return found == nullptr ? TermValue{} : dim_value(*found);
}

TermValue dims(const Operands&, const Values& values) {
  if (!is_ranked(*values[0])) return {};
  TermList list;
  for (const Dim& each : values[0]->type().dims) list.push_back(dim_value(each));
  return made(std::move(list));
}

TermValue symbolic(const Operands& operands, const Values& values) {
  const Dim* found = dim_at(operands, values);
  return found == nullptr ? TermValue{} : made(found->is_expression());
}

TermValue fixed(const Operands&, const Values& values) {
  return made(values[0]->type().is_fixed());
}

TermValue size(const Operands&, const Values& values) {
  const auto count = values[0]->type().element_count();
  return count ? made(*count) : TermValue{};
}

TermValue dtype(const Operands&, const Values& values) {
  const Type& type = values[0]->type();
  if (!type.is_tensor() || type.dtype == DType::kUndefined) return {};
  return made(std::string(dtype_name(type.dtype)));
}

TermValue is_float(const Operands&, const Values& values) {
  return made(dtype_is_float(values[0]->type().dtype));
}

TermValue same_type(const Operands&, const Values& values) {
  return made(values[0]->type_id() == values[1]->type_id() && values[0]->type_id() != 0);
}

// Whether the first value broadcasts to the shape of the second without changing it.
TermValue broadcasts(const Operands&, const Values& values) {
  if (!is_ranked(*values[0]) || !is_ranked(*values[1])) return {};
  const std::vector<Dim>& small = values[0]->type().dims;
  const std::vector<Dim>& large = values[1]->type().dims;
  if (small.size() > large.size()) return made(false);
  for (size_t i = 0; i < small.size(); ++i) {
    const Dim& a = small[small.size() - 1 - i];
    if (a != Dim::fixed(1) && a != large[large.size() - 1 - i]) return made(false);
  }
  return made(true);
}

// Above some readers, those that read it twice are counted twice.
TermValue users(const Operands&, const Values& values) {
  constexpr size_t kTold = 256;
  if (values[0]->uses().size() > kTold) return made(static_cast<int64_t>(values[0]->uses().size()));
  std::vector<const Node*> readers;
  for (const Use& use : values[0]->uses()) readers.push_back(use.node);
  std::sort(readers.begin(), readers.end());
  const auto count = std::unique(readers.begin(), readers.end()) - readers.begin();
  return made(int64_t{count + (values[0]->is_output() ? 1 : 0)});
}

TermValue is_graph_output(const Operands&, const Values& values) {
  return made(values[0]->is_output());
}

TermValue constant(const Operands&, const Values& values) {
  return made(values[0]->is_constant() && !values[0]->is_input());
}

TermValue value(const Operands&, const Values& values) {
  if (const auto number = find_number(values[0])) {
    if (dtype_is_float(values[0]->type().dtype)) return made(*number);
    return made(static_cast<int64_t>(*number));
  }
  const auto ints = constant_ints(values[0]);
  if (!ints) return {};
  TermList list;
  for (const int64_t each : *ints) list.push_back(made(each));
  return made(std::move(list));
}

TermValue axes(const Operands&, const Values& values) {
  const Node* node = values[0]->producer();
  const auto found = node == nullptr ? std::nullopt : reduced_axes(*node);
  if (!found) return {};
  TermList list;
  for (const int64_t each : *found) list.push_back(made(each));
  return made(std::move(list));
}

// The only axis of a reduction, or that of the attribute of this name, from the front.
TermValue axis(const Operands&, const Values& values) {
  const Node* node = values[0]->producer();
  if (node == nullptr) return {};
  if (const auto found = reduced_axes(*node))
    return found->size() == 1 ? made(found->front()) : TermValue{};
  const auto attribute = attribute_or_default(*node, "axis");
  const auto* number = attribute ? std::get_if<int64_t>(&*attribute) : nullptr;
  if (number == nullptr) return {};
  if (*number >= 0) return made(*number);
  const bool has_rank = node->input(0) != nullptr && is_ranked(*node->input(0));
  return has_rank ? made(*number + node->input(0)->type().rank()) : TermValue{};
}

TermValue attr(const Operands& operands, const Values& values) {
  const auto* name = std::get_if<std::string>(&operands[1].content);
  const Node* node = values[0]->producer();
  if (name == nullptr || node == nullptr) return {};
  const auto found = attribute_or_default(*node, *name);
  if (!found) return {};
  if (const auto* integer = std::get_if<int64_t>(&*found)) return made(*integer);
  if (const auto* real = std::get_if<float>(&*found)) return made(double{*real});
  if (const auto* text = std::get_if<std::string>(&*found)) return made(*text);
  TermList list;
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&*found)) {
    for (const int64_t each : *ints) list.push_back(made(each));
    return made(std::move(list));
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&*found)) {
    for (const float each : *reals) list.push_back(made(double{each}));
    return made(std::move(list));
  }
  return {};
}

TermValue op(const Operands&, const Values& values) {
  const Node* node = values[0]->producer();
  return node == nullptr ? TermValue{} : made(std::string(op_name(node->op())));
}

// Whether the name of the node that makes the value, or of the value, fits the glob.
TermValue scope(const Operands& operands, const Values& values) {
  const auto* glob = std::get_if<std::string>(&operands[1].content);
  if (glob == nullptr) return {};
  const Node* node = values[0]->producer();
  const auto fits = [&](const std::string& name) {
    return !name.empty() && fnmatch(glob->c_str(), name.c_str(), 0) == 0;
  };
  return made(fits(values[0]->name()) || (node != nullptr && fits(node->name())));
}

TermValue near(const Operands& operands, const Values&) {
  const auto a = operands[0].number(), b = operands[1].number(), tolerance = operands[2].number();
  if (!a || !b || !tolerance) return {};
  return made(std::abs(*a - *b) <= *tolerance);
}

template <double (*function)(double)>
TermValue of_number(const Operands& operands, const Values&) {
  const auto number = operands[0].number();
  return number ? made(function(*number)) : TermValue{};
}

TermValue length(const Operands& operands, const Values&) {
  const auto* list = std::get_if<TermList>(&operands[0].content);
  return list == nullptr ? TermValue{} : made(static_cast<int64_t>(list->size()));
}

// Columns: operands, of them values, whether types are needed, whether it is a flag, whether it
// reads the node.
constexpr TermFunction kFunctions[] = {
    {"rank", 1, 1, true, false, false, rank},
    {"dim", 2, 1, true, false, false, dim},
    {"dims", 1, 1, true, false, false, dims},
    {"symbolic", 2, 1, true, true, false, symbolic},
    {"fixed", 1, 1, true, true, false, fixed},
    {"size", 1, 1, true, false, false, size},
    {"dtype", 1, 1, true, false, false, dtype},
    {"float", 1, 1, true, true, false, is_float},
    {"same_type", 2, 2, true, true, false, same_type},
    {"broadcasts", 2, 2, true, true, false, broadcasts},
    {"axes", 1, 1, true, false, true, axes},
    {"axis", 1, 1, true, false, true, axis},
    {"users", 1, 1, false, false, false, users},
    {"output", 1, 1, false, true, false, is_graph_output},
    {"constant", 1, 1, false, true, false, constant},
    {"value", 1, 1, false, false, false, value},
    {"attr", 2, 1, false, false, true, attr},
    {"op", 1, 1, false, false, true, op},
    {"scope", 2, 1, false, true, false, scope},
    {"near", 3, 0, false, true, false, near},
    {"length", 1, 0, false, false, false, length},
    {"abs", 1, 0, false, false, false, of_number<std::abs>},
    {"exp", 1, 0, false, false, false, of_number<std::exp>},
    {"log", 1, 0, false, false, false, of_number<std::log>},
    {"sqrt", 1, 0, false, false, false, of_number<std::sqrt>},
};

}  // namespace

const TermFunction* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &TermFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

std::string function_names() {
  std::string names;
  for (const TermFunction& function : kFunctions)
    names += (names.empty() ? "" : ", ") + std::string(function.name);
  return names;
}

}  // namespace sluice::rules
