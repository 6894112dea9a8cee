// Makes one RMSNormalization of the nodes that exporters write for it.
//
//   before:  %1 = Pow(%x, 2)   %2 = ReduceMean(%1, [-1]) {keepdims = 1}   %3 = Add(%2, 1e-6)
//            %4 = Sqrt(%3)     %5 = Reciprocal(%4)   %6 = Mul(%x, %5)     %y = Mul(%scale, %6)
//   after:   %y = RMSNormalization(%x, %scale) {axis = -1, epsilon = 1e-6}
//
// unit_rows.h says in which forms the nodes may be written. A Cast of %x from f16 or bf16 to f32
// before, and back before the scale, is the operator's own, which computes in f32. A missing scale
// is 1.
//
// Legal because the operator means this formula. The scale must broadcast to the normalised axes,
// which are the last ones. No value in between may be read elsewhere. Must run after
// fuse-layer-normalization, whose core is the same.
#include "common/pass/op_index.h"
#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/fusion/unit_rows.h"

namespace sluice {
namespace {

bool fuse_unit_rows(Editor& editor, Node& node) {
  const auto rows = node.is_erased() ? std::nullopt : read_unit_rows(node);
  if (!rows) return false;
  for (const bool uncast : {true, false}) {
    Normalization found{.rows = *rows, .last = &node};
    append_affine(found, uncast, false);
    if (replace_normalization(editor, found, Op::kRMSNormalization)) return true;
  }
  return false;
}

Result<bool> fuse_rms_normalizations(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (const Op op : {Op::kDiv, Op::kMul}) {
    for (Node* node : index.nodes(op)) changed = fuse_unit_rows(editor, *node) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_rms_normalization(Graph& root, const Options&) {
  return on_every_graph(root, fuse_rms_normalizations);
}

}  // namespace sluice
