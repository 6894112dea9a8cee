// Merges nodes that compute the same, and constants that are the same.
//
//   before:  %1 = Relu(%x)   %2 = Relu(%x)   %y = Add(%1, %2)
//   after:   %1 = Relu(%x)   %y = Add(%1, %1)
//
// Legal for equal op, inputs, attributes, types of results and placement (stream label, stage
// level, …); never for random ops, nodes with bodies, nodes that run after others, or those that
// the placement keeps. The remaining node takes the origins of the erased one. Nodes are compared
// within one graph, in order, through a hash, so chains of equal nodes merge in one pass. An output
// of the model merges only into a value that can take its name.
#include "common/ops/op_table.h"
#include "common/pass/editor.h"
#include "common/pass/merge_equal.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool is_mergeable(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kRandom) == 0 && is_removable(node) &&
         node.after().empty() && node.bodies().empty();
}

}  // namespace

Result<bool> eliminate_common_subexpressions(Graph& root, const Options&) {
  return on_every_graph(root,
                        [](Graph& graph) { return merge_equal_nodes_of(graph, is_mergeable); });
}

}  // namespace sluice
