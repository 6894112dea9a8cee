// Collapses a transpose of a transpose into one, or into nothing.
//
//   before:  %1 = Transpose(%x) {perm = [0, 2, 1]}   %2 = Transpose(%1) {perm = [2, 1, 0]}
//   after:   %2 = Transpose(%x) {perm = [1, 2, 0]}
//
// Legal because axis j of the second is axis second[j] of the first, which is axis first[second[j]]
// of %x. %1 stays if something else reads it.
#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

bool is_permutation(const std::vector<int64_t>& perm) {
  std::vector<bool> seen(perm.size(), false);
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(axis)])
      return false;
    seen[static_cast<size_t>(axis)] = true;
  }
  return true;
}

// Returns the permutation in full; empty when neither the attribute nor the rank determines it, and
// when the attribute is not a permutation.
std::vector<int64_t> permutation(const Node& node) {
  std::vector<int64_t> perm = node.get(attributes::Transpose::perm);
  const Type& type = node.input(0)->type();
  if (!is_permutation(perm)) return {};
  if (!perm.empty() || !type.ranked) return perm;
  for (int64_t axis = type.rank() - 1; axis >= 0; --axis) perm.push_back(axis);
  return perm;
}

bool shorten_transposes(Editor& editor, Node& node, Node& producer) {
  const std::vector<int64_t> first = permutation(producer);
  std::vector<int64_t> perm = permutation(node);
  if (first.empty() || first.size() != perm.size()) return false;
  bool is_identity = true;
  for (size_t axis = 0; axis < perm.size(); ++axis) {
    perm[axis] = first[static_cast<size_t>(perm[axis])];
    is_identity = is_identity && perm[axis] == static_cast<int64_t>(axis);
  }
  Value& source = *producer.input(0);
  if (is_identity && editor.replace(node.output(), source)) {
    editor.erase_unused(node);
    return true;
  }
  node.set_input(0, &source);
  node.set(attributes::Transpose::perm, std::move(perm));
  if (!producer.output().is_used()) {
    node.add_origins(producer.origins());
    editor.erase_unused(producer);
  }
  return true;
}

Result<bool> fold_transpose_chains(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node& node : graph.nodes()) {  // producers first, so a chain is folded from its start
    if (node.op() != Op::kTranspose || !is_removable(node)) continue;
    Node* producer = node.input(0)->producer();
    if (producer == nullptr || producer->op() != Op::kTranspose ||
        !(producer->placement == node.placement))
      continue;
    changed = shorten_transposes(editor, node, *producer) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> fold_transpose_chain(Graph& root, const Options&) {
  return on_every_graph(root, fold_transpose_chains);
}

}  // namespace sluice
