// Makes one Swish of a value that is multiplied with its sigmoid.
//
//   before:  %1 = Mul(%x, 1.702)   %2 = Sigmoid(%1)   %y = Mul(%x, %2)
//   after:   %y = Swish(%x) {alpha = 1.702}
//
// Legal because Swish means x * sigmoid(alpha * x). Without the first node alpha is 1. No value in
// between may be read elsewhere. Must run before epilogues are fused: there a Swish is one node
// that reads its operand once.
#include "common/ops/attributes.h"
#include "common/pass/pattern_matcher.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

bool fuse_swish_gate(Editor& editor, Node& sigmoid) {
  Value& argument = *sigmoid.input(0);
  const Scaled scaled = read_scaled(argument);
  const auto found = find_gated(sigmoid.output(), 1,
                                [&](Value& x) { return &x == &argument || &x == scaled.value; });
  if (!found || found->x->type_id() != found->last->output().type_id()) return false;
  Node* swish = replace_between(editor, {found->x}, *found->last, Op::kSwish);
  if (swish == nullptr) return false;
  if (found->x != &argument)
    swish->set(attributes::Swish::alpha, static_cast<float>(scaled.factor));
  return true;
}

Result<bool> fuse_swishes(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* sigmoid : index.nodes(Op::kSigmoid))
    changed = fuse_swish_gate(editor, *sigmoid) || changed;
  return changed;
}

}  // namespace

Result<bool> fuse_swish(Graph& root, const Options&) { return on_every_graph(root, fuse_swishes); }

}  // namespace sluice
