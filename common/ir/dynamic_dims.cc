#include "common/ir/dynamic_dims.h"

#include <algorithm>

#include "common/base/shell_word.h"

namespace sluice {
namespace {

void add_once(std::vector<SymbolId>& symbols, SymbolId symbol) {
  if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) symbols.push_back(symbol);
}

}  // namespace

std::vector<SymbolId> open_symbols(const Module& module) {
  std::vector<SymbolId> symbols;
  for (const Value* input : module.root().inputs()) {
    if (!input->type().is_tensor()) continue;
    for (const Dim& dim : input->type().dims) {
      if (!dim.is_expression()) continue;
      const Expression& expression = module.expressions[static_cast<ExpressionId>(dim.value)];
      if (expression.op == ExpressionOp::kSymbol)
        add_once(symbols, static_cast<SymbolId>(expression.value));
    }
  }
  return symbols;
}

std::vector<const Value*> unranked_inputs(const Module& module) {
  std::vector<const Value*> inputs;
  for (const Value* input : module.root().inputs()) {
    if (input->type().is_tensor() && !input->type().ranked) inputs.push_back(input);
  }
  return inputs;
}

std::string open_dims_hint(const Module& module) {
  std::string hint;
  for (const SymbolId symbol : open_symbols(module)) {
    hint += (hint.empty() ? "--dim " : " --dim ") +
            shell_word(module.expressions.symbol(symbol).name + "=SIZE");
  }
  return hint;
}

std::string dynamic_dims_hint(const Module& module) {
  std::string hint = open_dims_hint(module);
  for (const Value* input : unranked_inputs(module)) {
    hint += (hint.empty() ? "--input-shape " : " --input-shape ") +
            shell_word(input->name() + ":SIZES");
  }
  return hint;
}

}  // namespace sluice
