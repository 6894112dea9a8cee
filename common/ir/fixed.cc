#include "common/ir/fixed.h"

#include <algorithm>
#include <functional>

#include "common/ir/limits.h"
#include "common/ir/module.h"
#include "common/symbolic/any_symbol.h"
#include "common/symbolic/nominal.h"

namespace sluice {
namespace {

constexpr size_t kListed = 10;

// Visits the values that occupy memory, each where it is produced: the argument of a callee is
// visited where the Call gets it. is_callee: `graph` is called.
void for_each_value(const Graph& graph, bool is_callee,
                    const std::function<void(const Value&)>& visit) {
  for (const Value& value : graph.values()) {
    const Node* producer = value.producer();
    const bool is_visited_elsewhere =
        producer == nullptr ? value.is_input() && is_callee : called_graph(*producer) != nullptr;
    const bool is_left_over = value.is_erased() || (value.is_constant() && !value.is_used());
    const bool is_no_value =
        !value.is_used() && producer != nullptr && value.type().kind == TypeKind::kUnknown;
    if (!is_visited_elsewhere && !is_left_over && !is_no_value) visit(value);
  }
  for (const Node& node : graph.nodes()) {
    if (const Graph* callee = called_graph(node)) for_each_value(*callee, true, visit);
  }
}

bool reads_inputs_only(const ExpressionTable& expressions, ExpressionId id) {
  return !any_symbol(expressions, id, [&](SymbolId symbol) {
    return expressions.symbol(symbol).origin != SymbolOrigin::kInputDim;
  });
}

}  // namespace

bool has_known_size(const Module& module, const Type& type) {
  return has_computed_size(type) &&
         std::all_of(type.dims.begin(), type.dims.end(), [&](const Dim& dim) {
           return !dim.is_expression() ||
                  reads_inputs_only(module.expressions, static_cast<ExpressionId>(dim.value));
         });
}

bool has_computed_size(const Type& type) {
  return !type.has_unknown() && type.dtype != DType::kString && type.dtype != DType::kUndefined;
}

std::string describe_value(const Value& value) {
  if (value.is_constant()) return fmt::format("constant '{}'", value.name());
  return value.producer() == nullptr
             ? fmt::format("input '{}'", value.name())
             : fmt::format("{}, result '{}'", value.producer()->label(), value.name());
}

Type nominal_type(const Module& module, const Type& type) {
  if (type.is_fixed() || !has_computed_size(type)) return type;
  Type nominal = type;
  for (Dim& dim : nominal.dims) {
    if (dim.is_expression())
      dim = Dim::fixed(nominal_value(module.expressions, static_cast<ExpressionId>(dim.value)));
  }
  return nominal;
}

std::vector<const Value*> dynamic_values(const Graph& root) {
  std::vector<const Value*> found;
  for_each_value(root, false, [&](const Value& value) {
    if (!value.type().is_fixed() || value.type().dtype == DType::kString) found.push_back(&value);
  });
  return found;
}

Result<void> check_sizes(const Graph& root) {
  std::string text;
  size_t count = 0;
  for_each_value(root, false, [&](const Value& value) {
    const bool is_string = value.type().dtype == DType::kString;
    if (!value.type().is_fixed() || is_string ||
        value.type().dense_bytes().value_or(UINT64_MAX) <= kMaxValueBytes)
      return;
    if (++count > kListed) return;
    const auto bytes = value.type().dense_bytes();
    text += fmt::format("\n  {}: {}", describe_value(value),
                        bytes ? fmt::format("{} bytes", *bytes) : "more than 2^64 bytes");
  });
  if (count == 0) return {};
  if (count > kListed) text += fmt::format("\n  … and {} more", count - kListed);
  return make_error(ErrorCode::kLimit,
                    "{} values have more bytes than a process can address, {}:{}", count,
                    kMaxValueBytes, text)
      .with_hint(
          "look at the shapes, which sluice show prints; --input-shape and --dim give smaller "
          "ones");
}

}  // namespace sluice
