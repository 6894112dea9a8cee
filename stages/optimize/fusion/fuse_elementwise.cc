// Wraps groups of elementwise nodes, and at most one reduction, softmax or normalisation with them,
// into Fused nodes, for which the vector engine makes one kernel each.
//
//   before:  %1 = Add(%a, %b)   %2 = Tanh(%1)   %3 = Mul(%1, %2)   %y = Softmax(%3)
//   after:   %y = Fused(%a, %b) {body = @y}      @y contains the four nodes
//
// Legal because the body computes exactly what the nodes computed, and the graph in which each
// group is one node has no cycle: a group stands where its last node stood, and every reader of a
// member is in the group or after that place, so all edges between groups lead forward. Nodes are
// visited from the last to the first, readers before producers, so the place of a group is that of
// the node that began it. Nodes with control edges take no part. Each node is visited once, with
// its readers, so the pass is linear.
//
// element_groups.h says which nodes may join. Bodies of control flow are left alone: they run node
// by node. Must run after the fusion of epilogues, which takes what a contraction can compute on
// the way.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/fusion/element_groups.h"
#include "stages/optimize/fusion/element_roles.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// Returns the values that stay visible: those that are read elsewhere, outputs of the graph, and
// results of nodes that are kept.
std::vector<Value*> visible_values(const std::vector<Node*>& nodes) {
  const auto is_outside = [&](const Use& use) {
    return std::find(nodes.begin(), nodes.end(), use.node) == nodes.end();
  };
  std::vector<Value*> visible;
  for (const Node* node : nodes) {
    for (size_t i = 0; i < node->output_count(); ++i) {
      Value& value = node->output(i);
      const bool is_read = std::any_of(value.uses().begin(), value.uses().end(), is_outside);
      if (is_read || value.is_output() || node->placement.keep) visible.push_back(&value);
    }
  }
  return visible;
}

void fuse_element_group(Editor& editor, const std::vector<Node*>& nodes) {
  FusedNode fused(editor, visible_values(nodes));
  for (const Node* node : nodes) {
    for (size_t i = 0; i < node->input_count(); ++i) {
      if (is_parameter(*node, i)) fused.take_in(*node->input(i));
    }
    fused.copy(*node);
  }
  fused.replace(nodes);
}

Result<bool> fuse_element_groups(Graph& graph) {
  if (graph.role == GraphRole::kBody) return false;
  Editor editor(graph);
  const std::vector<std::vector<Node*>> groups = find_element_groups(graph);
  for (const std::vector<Node*>& nodes : groups) fuse_element_group(editor, nodes);
  return !groups.empty();
}

}  // namespace

Result<bool> fuse_elementwise(Graph& root, const Options&) {
  return on_every_graph(root, fuse_element_groups);
}

}  // namespace sluice
