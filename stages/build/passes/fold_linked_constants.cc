// Evaluates nodes over small constants again, now that the parameters of subgraphs and parts are
// the constants that their Calls bind.
//
//   before:  @p(%a, parameter %s = constant [2, 3]):  %t = Mul(%s, 2)   %y = Reshape(%a, %t)
//   after:   @p(%a, parameter %s = constant [2, 3]):  %y = Reshape(%a, constant [4, 6])
//
// Legal as in sluice-optimize's fold-constants, whose limits it has (common/pass/
// fold_over_constants.h). A kernel reads bytes as its operand is stored, and the bytes of a
// constant are dense: a node some value of which is stored otherwise stays. So does one whose
// result a Call reads, since the part was compiled for a value that is not constant. What then
// feeds nothing is erased.
//
// Larger constants are no work of a run either: they are constant expressions, evaluated when the
// model is written.
#include <algorithm>

#include "common/pass/fold_over_constants.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

bool is_dense(const Value* value) { return value == nullptr || value->storage() == nullptr; }

bool is_read_by_call(const Value& value) {
  return std::ranges::any_of(value.uses(),
                             [](const Use& use) { return use.node->op() == Op::kCall; });
}

bool fold(Editor& editor, Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!is_dense(node.input(i))) return false;
  }
  for (size_t k = 0; k < node.output_count(); ++k) {
    if (!is_dense(&node.output(k)) || is_read_by_call(node.output(k))) return false;
  }
  return fold_over_constants(editor, node);
}

}  // namespace

Result<bool> fold_linked_constants(Graph& root, const Options&) {
  return on_every_node(root, fold);
}

}  // namespace sluice
