#include <algorithm>

#include "common/loop/prologue.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"

namespace sluice {
namespace {

// Returns the values of the contraction's own graph that stand for what is read, in order. A value
// of the subgraph may be several inputs of the Fused node.
std::vector<const Value*> find_inside(const Contraction& contraction,
                                      const std::vector<const Value*>& reads) {
  std::vector<const Value*> inside;
  for (const Value* read : reads) {
    const Value* found = read;  // a constant of the body
    for (size_t i = 0; i < contraction.body->inputs().size(); ++i) {
      const Value* input = contraction.body->inputs()[i];
      if (contraction.node->input(i) != read || std::ranges::find(inside, input) != inside.end())
        continue;
      found = input;
      break;
    }
    inside.push_back(found);
  }
  return inside;
}

}  // namespace

Result<Prologue> lower_prologue(Lowering& lowering, const Contraction& contraction,
                                std::vector<Lowering::Operand>& operands) {
  const Value& operand = *contraction.anchor->input(0);
  SLUICE_ASSIGN(
      loop::LoweredPrologue lowered,
      loop::lower_prologue(*contraction.node, operand, prologue_columns(*contraction.anchor)));
  for (const Value* inside : find_inside(contraction, lowered.reads))
    operands.push_back({inside, &lowering.operand_value(contraction, *inside)});
  Prologue prologue;
  prologue.loops = std::move(lowered.loops);
  prologue.first_symbol = static_cast<uint16_t>(contraction.result().rank());
  prologue.math = lowering.math();
  return prologue;
}

}  // namespace sluice
