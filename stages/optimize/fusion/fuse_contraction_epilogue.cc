// Wraps a contraction and the elementwise nodes after it into one Fused node.
//
//   before:  %1 = Conv(%x, %w)   %2 = Add(%1, %residual)   %y = Relu(%2)
//   after:   %y = Fused(%x, %w, %residual) {anchor = 0, body = @y}
//            @y(%x, %w, %residual):  %1 = Conv(%x, %w)   %2 = Add(%1, %residual)   %y = Relu(%2)
//
// Legal because the body computes exactly what the nodes computed, and nothing outside reads a
// value produced inside: from the anchor the chain is extended by steps that include all readers of
// the value reached so far. A step is one elementwise node, or a match of a pattern
// (epilogue_patterns) that reads the value in several places. So only control edges can lead out of
// the set and back, and the graph is searched for those. Each node must be an epilogue that the
// aicore engine takes (common/target/aicore.h): then a Fused node is sure to find its engine. All
// nodes must have the same placement.
//
// Inputs of the Fused node: the anchor's, then one for each other value that the epilogue reads.
// Scalars in the graph become constants of the body; all other constants stay outside, so that
// equal layers with other weights have equal bodies.
//
// An Add of two contractions joins the one that comes first in the graph.
#include <algorithm>
#include <unordered_map>

#include "common/pass/boundary.h"
#include "common/pass/pattern_matcher.h"
#include "common/target/aicore.h"
#include "stages/optimize/editor.h"
#include "stages/optimize/fusion/epilogue_patterns.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// A longer epilogue would not stay in a core's registers; the nodes after it run on their own.
constexpr size_t kLongestChain = 64;

// Nodes in list order; the last one produces the value that the next step reads.
using Step = std::vector<Node*>;
using Steps = std::unordered_map<const Value*, std::vector<Step>>;

bool contains(const std::vector<Node*>& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// Returns steps of several nodes by the value they start from.
Steps find_pattern_steps(const Graph& graph) {
  Steps steps;
  const OpIndex index(graph);
  for (const Pattern& pattern : epilogue_patterns()) {
    PatternMatcher matcher(pattern, index, {.commuted = true});
    while (const auto match = matcher.match_next())
      steps[match->captured("x")].push_back(match->boundary().nodes);
  }
  return steps;
}

class Chain {
 public:
  explicit Chain(Node& anchor) : nodes_{&anchor} {}

  // Appends steps until none is left.
  void grow(const Steps& pattern_steps) {
    while (!end().is_output() && grow_once(pattern_steps)) {
    }
  }

  const std::vector<Node*>& nodes() const { return nodes_; }
  Node& anchor() const { return *nodes_.front(); }
  Value& end() const { return nodes_.back()->output(); }

 private:
  bool grow_once(const Steps& pattern_steps) {
    const std::vector<Use>& uses = end().uses();
    if (uses.empty()) return false;
    const bool one_reader = std::all_of(uses.begin(), uses.end(),
                                        [&](const Use& use) { return use.node == uses[0].node; });
    if (one_reader) return take({uses[0].node});
    const auto found = pattern_steps.find(&end());
    if (found == pattern_steps.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const Step& step) { return take(step); });
  }

  bool take(const Step& step) {
    const std::vector<Use>& uses = end().uses();
    if (!std::all_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return contains(step, use.node); }))
      return false;
    if (nodes_.size() + step.size() > kLongestChain) return false;
    for (const Node* node : step) {
      if (!fits(*node, step)) return false;
    }
    nodes_.insert(nodes_.end(), step.begin(), step.end());
    return true;
  }

  bool fits(const Node& node, const Step& step) const {
    if (!is_epilogue_op(node) || node.placement.keep || !(node.placement == anchor().placement))
      return false;
    const Type& result = anchor().output().type();
    if (node.output().type() != result) return false;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (input == nullptr || input == &end() || contains(step, input->producer())) continue;
      if (contains(nodes_, input->producer()) || !epilogue_shape(input->type(), anchor()))
        return false;
      if (node.op() == Op::kClip && !belongs_in_body(*input)) return false;
    }
    return true;
  }

  std::vector<Node*> nodes_;  // the anchor first
};

void fuse(Editor& editor, const Chain& chain) {
  FusedNode fused(editor, chain.end());
  fused.copy_anchor(chain.anchor());
  for (size_t i = 1; i < chain.nodes().size(); ++i) fused.copy(*chain.nodes()[i]);
  fused.replace(chain.anchor(), chain.nodes());
}

Result<bool> run(Graph& graph) {
  Editor editor(graph);
  const Steps pattern_steps = find_pattern_steps(graph);
  std::vector<Node*> anchors;
  for (Node& node : graph.nodes()) {
    if (is_contraction(node.op()) && node.output_count() == 1 && !node.placement.keep &&
        aicore_unsupported_reason(node).empty())
      anchors.push_back(&node);
  }
  bool changed = false;
  for (Node* anchor : anchors) {
    Chain chain(*anchor);
    chain.grow(pattern_steps);
    std::string reason;
    if (chain.nodes().size() == 1 ||
        (editor.has_control_edges() && !can_fuse(chain.nodes(), reason)))
      continue;
    fuse(editor, chain);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_contraction_epilogue(Graph& root, const Options&) {
  return on_every_graph(root, run);
}

}  // namespace sluice
