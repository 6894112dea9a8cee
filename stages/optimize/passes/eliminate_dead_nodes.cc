// Erases nodes whose results nothing reads, optional results that nothing reads, and unused
// constants.
//
//   before:  %1 = Relu(%x)   %2 = Exp(%x)   %y, %mask = Dropout(%1)   -> (%y)
//   after:   %1 = Relu(%x)   %y = Dropout(%1)                         -> (%y)
//
// Legal because ops of the table have no effect besides their results, except stream switches and
// nodes that the placement keeps. A node that ran after an erased node runs after the nodes which
// that one ran after. Bodies of erased nodes are erased with them; captures that a body does not
// read stay.
#include "common/ops/op_table.h"
#include "common/pass/editor.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool drop_unused_results(Node& node) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || row->max_outputs < 0 || node.placement.keep) return false;
  bool changed = false;
  while (static_cast<int>(node.output_count()) > row->min_outputs &&
         !node.output(node.output_count() - 1).is_used()) {
    node.remove_last_output();
    changed = true;
  }
  return changed;
}

bool drop_unused_constants(Graph& graph) {
  bool changed = false;
  for (Value& value : graph.values()) {
    if (value.is_erased() || !value.is_constant() || value.is_input() ||
        value.producer() != nullptr || value.is_used())
      continue;
    graph.erase_value(value);
    changed = true;
  }
  return changed;
}

Result<bool> drop_all_unused(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node* node = graph.last_node(); node != nullptr;) {  // readers first
    Node* previous = node->previous();
    changed = editor.erase_unused(*node) || changed;
    node = previous;
    while (node != nullptr && node->is_erased()) node = node->previous();
  }
  for (Node& node : graph.nodes()) changed = drop_unused_results(node) || changed;
  return drop_unused_constants(graph) || changed;
}

}  // namespace

Result<bool> eliminate_dead_nodes(Graph& root, const Options&) {
  return on_every_graph(root, drop_all_unused);
}

}  // namespace sluice
