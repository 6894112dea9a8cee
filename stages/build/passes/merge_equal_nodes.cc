// Merges equal nodes of different subgraphs, and equal constants.
//
//   before:  %1: storage nhwc = TransData(%x)    (of @p0)    %a = Fused(%1)
//            %2: storage nhwc = TransData(%x)    (of @p1)    %b = Fused(%2)
//   after:   %1: storage nhwc = TransData(%x)    %a = Fused(%1)   %b = Fused(%1)
//
// Legal for equal op, kernel, attributes, inputs, types, storages and placement, and for Fused
// nodes of equal bodies (common/pass/merge_equal.h); never for random ops, control flow, nodes that
// run after others or that the placement keeps. Left alone are
//   - results that are appended to in place: each is one state's memory;
//   - Concat, Split, and what a Concat joins: a value can be a piece of one whole only, and another
//     whole would cost a copy (mark-no-task).
//
// Must run after link-subgraphs, which makes the packings of equal weights one constant.
#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ops/op_table.h"
#include "common/ops/pieces.h"
#include "common/pass/editor.h"
#include "common/pass/merge_equal.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

bool is_random(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row == nullptr || (row->flags & kRandom) != 0;
}

// Returns whether its bodies compute the same each time; only those of Fused nodes are looked at.
bool has_plain_bodies(const Node& node) {
  return std::ranges::all_of(node.bodies(), [&](GraphId id) {
    const NodeRange nodes = node.graph().module().graph(id).nodes();
    return node.op() == Op::kFused && std::none_of(nodes.begin(), nodes.end(), is_random);
  });
}

bool is_one_value(const Value& value) {
  return !append_axis(value) &&
         std::ranges::none_of(value.uses(), [](const Use& use) { return is_piecewise(*use.node); });
}

bool is_mergeable(const Node& node) {
  if (is_random(node) || !is_removable(node) || !node.after().empty() || node.op() == Op::kCall ||
      is_piecewise(node) || !has_plain_bodies(node))
    return false;
  for (size_t k = 0; k < node.output_count(); ++k) {
    if (!is_one_value(node.output(k))) return false;
  }
  return true;
}

}  // namespace

Result<bool> merge_equal_nodes(Graph& root, const Options&) {
  return on_every_graph(root,
                        [](Graph& graph) { return merge_equal_nodes_of(graph, is_mergeable); });
}

}  // namespace sluice
