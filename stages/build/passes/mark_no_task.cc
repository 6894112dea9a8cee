// Takes the task from every Concat whose operands can lie in its result, and from every Split whose
// results can lie in its operand: they compute nothing, and nothing is left to copy.
//
//   before:  %y = Concat(%a, %b, %x) {axis = 0} placement {kernel = k0}
//   after:   %0 = MemCopy(%x)
//            %y = Concat(%a, %b, %0) {axis = 0} placement {_no_task}
//
// Legal because what makes %a and %b can write them anywhere, and assign-buffers gives them their
// places in %y. What cannot be a piece (an input, a constant, an output that the caller bound, a
// value that is a piece of something else already) is copied there, when that is at most half of
// the result; otherwise the node keeps its kernel, for a reason that `sluice show --explain` says
// (common/ops/pieces.h). Nodes that build cannot give another kernel must have operands stored as
// they lie in the result: sluice-optimize sees to that (store-pieces).
//
// Must run before streams and events are assigned, which only tasks have.
#include "common/ops/pieces.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// Lets the Concat read a copy of an operand.
void copy_operand(Graph& graph, Node& concat, size_t index, Pieces& pieces) {
  Value& operand = *concat.input(index);
  Node& copy = graph.add_node(Op::kMemCopy, {&operand}, 1, &concat);
  copy.output().set_type(operand.type_id());
  copy.output().set_name(operand.name() + ":piece");
  copy.set_name(concat.name());
  copy.set_origins(concat.origins());
  copy.placement.engine = EngineId::kRts;
  copy.placement.stream_label = concat.placement.stream_label;
  copy.placement.memory_class = concat.placement.memory_class;
  concat.set_input(index, &copy.output());
  pieces.enter(copy.output());
}

bool mark(Graph& graph) {
  bool changed = false;
  Pieces pieces(graph);
  for (Node& node : graph.nodes()) {
    if (node.placement.no_task || !is_piecewise(node)) {
      pieces.add(node);
      continue;
    }
    const Pieces::TaskReason found = pieces.task_reason(node);
    if (!found.reason.empty()) {
      pieces.add(node);
      continue;
    }
    for (const size_t index : found.copied) copy_operand(graph, node, index, pieces);
    node.placement.no_task = true;
    node.placement.kernel = -1;
    node.placement.layouts.clear();
    pieces.join(node);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> mark_no_task(Graph& root, const Options&) {
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) changed = mark(*graph) || changed;
  return changed;
}

}  // namespace sluice
