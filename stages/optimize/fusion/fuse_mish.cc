// Makes one Mish of the nodes that exporters write for it.
//
//   before:  %1 = Softplus(%x)   %2 = Tanh(%1)   %y = Mul(%x, %2)
//   after:   %y = Mish(%x)
//
// Legal because Mish means x * tanh(softplus(x)). Softplus may be written as Log(Exp(x) + 1): where
// that overflows, its tanh is 1 all the same. No value in between may be read elsewhere.
#include "common/pass/pattern_matcher.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// Returns x when the value is softplus(x), otherwise null.
const Value* read_softplus(const Value* value) {
  if (const Node* softplus = find_maker(value, Op::kSoftplus)) return softplus->input(0);
  const Node* log = find_maker(value, Op::kLog);
  const Node* exp = log == nullptr ? nullptr : find_maker(read_sum(*log->input(0), 1), Op::kExp);
  return exp == nullptr ? nullptr : exp->input(0);
}

bool fuse_mish_gate(Editor& editor, Node& tanh) {
  const Value* x = read_softplus(tanh.input(0));
  if (x == nullptr) return false;
  const auto found = find_gated(tanh.output(), 1, [&](const Value& value) { return &value == x; });
  return found && x->type_id() == found->last->output().type_id() &&
         replace_between(editor, {found->x}, *found->last, Op::kMish) != nullptr;
}

Result<bool> fuse_mishes(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* tanh : index.nodes(Op::kTanh)) changed = fuse_mish_gate(editor, *tanh) || changed;
  return changed;
}

}  // namespace

Result<bool> fuse_mish(Graph& root, const Options&) { return on_every_graph(root, fuse_mishes); }

}  // namespace sluice
