// Wraps a contraction and the elementwise nodes after it into one Fused node.
//
//   before:  %1 = Conv(%x, %w)   %2 = Add(%1, %residual)   %y = Relu(%2)
//   after:   %y = Fused(%x, %w, %residual) {anchor = 0, body = @y}
//            @y(%x, %w, %residual):  %1 = Conv(%x, %w)   %2 = Add(%1, %residual)   %y = Relu(%2)
//
// Legal because the body computes exactly what the nodes computed, and nothing outside reads a
// value produced inside: from the anchor the chain is extended by steps that include all readers of
// the value reached so far (epilogue_chain.h). So only control edges can lead out of the set and
// back, and the graph is searched for those. Each node must be an epilogue that the aicore engine
// takes (common/target/aicore.h): then a Fused node is sure to find its engine. All nodes must have
// the same placement.
//
// The Interleave of the phases of a transposed convolution is a part of the anchor, whose kernel
// stores each element in its place.
//
// Inputs of the Fused node: the anchor's, then one for each other value that the epilogue reads.
// Scalars in the graph become constants of the body; all other constants stay outside, so that
// equal layers with other weights have equal bodies.
//
// An Add of two contractions joins the one that comes first in the graph.
#include "common/pass/can_fuse.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "stages/optimize/fusion/epilogue_chain.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

void fuse_epilogue_chain(Editor& editor, const EpilogueChain& chain) {
  FusedNode fused(editor, chain.end());
  fused.copy_anchor(chain.anchor());
  for (size_t i = 1; i < chain.nodes().size(); ++i) fused.copy(*chain.nodes()[i]);
  fused.replace(chain.anchor(), chain.nodes());
}

Result<bool> fuse_contraction_epilogues(Graph& graph) {
  Editor editor(graph);
  std::vector<Node*> anchors;
  for (Node& node : graph.nodes()) {
    if (takes_epilogue(node.op()) && node.output_count() == 1 && !node.placement.keep &&
        aicore_unsupported_reason(node).empty())
      anchors.push_back(&node);
  }
  bool changed = false;
  for (Node* anchor : anchors) {
    EpilogueChain chain(*anchor, false);
    chain.grow();
    std::string reason;
    if (chain.nodes().size() == 1 ||
        (editor.has_control_edges() && !can_fuse(chain.nodes(), reason)))
      continue;
    fuse_epilogue_chain(editor, chain);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_contraction_epilogue(Graph& root, const Options&) {
  return on_every_graph(root, fuse_contraction_epilogues);
}

}  // namespace sluice
