// Collapses a chain of nodes that only change the shape into one Reshape, or into nothing.
//
//   before:  %1 = Reshape(%x, [6, 4])   %2 = Unsqueeze(%1, [0])   %y = Relu(%2)
//   after:   %2 = Reshape(%x, [1, 6, 4])   %y = Relu(%2)
//
// Legal because Reshape, Squeeze, Unsqueeze and Flatten keep the elements in order, so only the
// last shape counts; it must be fixed, since the new Reshape names it in full. %1 stays if
// something else reads it.
#include "common/pass/editor.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool is_reshaping(const Node& node) {
  const Op op = node.op();
  return op == Op::kReshape || op == Op::kSqueeze || op == Op::kUnsqueeze || op == Op::kFlatten;
}

bool shorten_reshapes(Editor& editor, Node& node) {
  Node& producer = *node.input(0)->producer();
  Value& source = *producer.input(0);
  if (editor.replace(node.output(), source)) {
    editor.erase_unused(node);
    return true;
  }
  Graph& graph = editor.graph();
  Value& shape = add_ints(graph, *node.output().type().extents());
  node.set_op(Op::kReshape);
  while (!node.attributes().empty()) node.remove_attribute(node.attributes().back().name);
  while (node.input_count() > 2) node.remove_last_input();
  node.set_input(0, &source);
  node.set_input(1, &shape);
  if (!producer.output().is_used()) {
    node.add_origins(producer.origins());
    editor.erase_unused(producer);
  }
  return true;
}

// Returns whether every target extent means itself: an extent of 0 means "as in the input" unless
// the attribute allowzero is set.
bool has_plain_extents(const Node& node) {
  const auto extents = node.output().type().extents();
  if (!extents) return false;
  for (const int64_t extent : *extents) {
    if (extent == 0) return false;
  }
  return true;
}

Result<bool> fold_reshape_chains(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node& node : graph.nodes()) {  // producers first, so a chain is folded from its start
    const Node* producer = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
    if (producer == nullptr || !is_reshaping(node) || !is_reshaping(*producer) ||
        !is_removable(node))
      continue;
    if (has_plain_extents(node) && node.placement == producer->placement)
      changed = shorten_reshapes(editor, node) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> fold_reshape_chain(Graph& root, const Options&) {
  return on_every_graph(root, fold_reshape_chains);
}

}  // namespace sluice
