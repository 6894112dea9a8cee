// Makes one HardSwish of the nodes that exporters write for it.
//
//   before:  %1 = Add(%x, 3)   %2 = Clip(%1, 0, 6)   %3 = Mul(%x, %2)   %y = Div(%3, 6)
//   after:   %y = HardSwish(%x)
//
//   before:  %1 = HardSigmoid(%x) {alpha = 0.16666667, beta = 0.5}   %y = Mul(%x, %1)
//   after:   %y = HardSwish(%x)
//
// Legal because HardSwish means either formula, up to the rounding of 1 / 6. The factors may be
// multiplied in any order. No value in between may be read elsewhere.
#include "common/ops/attributes.h"
#include "common/pass/pattern_matcher.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

bool fuse_hard_swish_gate(Editor& editor, Node& gate, const Value* x, double factor) {
  const auto found =
      find_gated(gate.output(), factor, [&](const Value& value) { return &value == x; });
  return found && x->type_id() == found->last->output().type_id() &&
         replace_between(editor, {found->x}, *found->last, Op::kHardSwish) != nullptr;
}

// Returns x of Clip(x + 3, 0, 6), or null.
const Value* read_clip(const Node& clip) {
  return is_number(clip.input(1), 0) && is_number(clip.input(2), 6) ? read_sum(*clip.input(0), 3)
                                                                    : nullptr;
}

const Value* read_hard_sigmoid(const Node& node) {
  const bool fits = is_close(DType::kF32, node.get(attributes::HardSigmoid::alpha), 1.0 / 6) &&
                    is_close(DType::kF32, node.get(attributes::HardSigmoid::beta), 0.5);
  return fits ? node.input(0) : nullptr;
}

Result<bool> fuse_hard_swishes(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* clip : index.nodes(Op::kClip)) {
    const Value* x = read_clip(*clip);
    changed = (x != nullptr && fuse_hard_swish_gate(editor, *clip, x, 1.0 / 6)) || changed;
  }
  for (Node* node : index.nodes(Op::kHardSigmoid)) {
    const Value* x = read_hard_sigmoid(*node);
    changed = (x != nullptr && fuse_hard_swish_gate(editor, *node, x, 1)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_hard_swish(Graph& root, const Options&) {
  return on_every_graph(root, fuse_hard_swishes);
}

}  // namespace sluice
