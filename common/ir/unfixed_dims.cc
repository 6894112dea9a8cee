#include "common/ir/unfixed_dims.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

std::string quoted(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=' || c == '.' || c == '-';
  });
  if (is_plain) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

int64_t smallest_size(const Symbol& symbol) {
  const int64_t low = std::max<int64_t>(symbol.low, 1);
  return (low + symbol.divisor - 1) / symbol.divisor * symbol.divisor;
}

}  // namespace

std::string unfixed_dims_hint(const Module& module) {
  std::string hint;
  std::set<std::string> options;
  const auto add = [&](const std::string& option) {
    if (options.insert(option).second) hint += (hint.empty() ? "" : " ") + option;
  };
  for (const Value* input : module.root().inputs()) {
    const Type& type = input->type();
    if (!type.is_tensor() || type.is_fixed()) continue;
    bool is_open = !type.ranked;
    for (const Dim& dim : type.dims) {
      if (dim.is_fixed()) continue;
      const Expression* expression = dim.is_expression() ? &module.expressions[static_cast<ExpressionId>(dim.value)] : nullptr;
      if (expression == nullptr || expression->op != ExpressionOp::kSymbol) {
        is_open = true;
        continue;
      }
      const Symbol& symbol = module.expressions.symbol(static_cast<SymbolId>(expression->value));
      add("--dim " + quoted(fmt::format("{}={}", symbol.name, smallest_size(symbol))));
    }
    if (is_open) add("--input-shape " + quoted(input->name() + ":..."));
  }
  return hint;
}

}  // namespace sluice
