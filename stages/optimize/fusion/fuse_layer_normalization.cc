// Makes one LayerNormalization of the nodes that exporters write for it.
//
//   before:  %m = ReduceMean(%x, [-1]) {keepdims = 1}   %d = Sub(%x, %m)   %1 = Pow(%d, 2)
//            %2 = ReduceMean(%1, [-1]) {keepdims = 1}   %3 = Add(%2, 1e-5)  %4 = Sqrt(%3)
//            %5 = Div(%d, %4)   %6 = Mul(%5, %scale)    %y = Add(%6, %shift)
//   after:   %y = LayerNormalization(%x, %scale, %shift) {axis = -1, epsilon = 1e-5}
//
// unit_rows.h says in which forms the nodes may be written. They may also be ordered as
//
//            %f = Mul(1 / %4, %scale)   %y = Add(Mul(%x, %f), Sub(%shift, Mul(%m, %f)))
//
// A Cast of %x from f16 or bf16 to f32 before, and back before the scale, is the operator's own,
// which computes in f32. A missing scale is 1, a missing shift 0.
//
// Legal because the operator means this formula, up to rounding. Scale and shift must broadcast to
// the normalised axes, which are the last ones. No value in between may be read elsewhere.
#include "common/pass/op_index.h"
#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/fusion/unit_rows.h"

namespace sluice {
namespace {

// Returns x when the value is its mean over that many last axes, otherwise null.
Value* read_mean(const Value* value, int64_t axes) {
  const Node* mean = find_maker(value, Op::kReduceMean);
  return mean != nullptr && last_axes(*mean) == axes ? mean->input(0) : nullptr;
}

// Returns x when the value is x - mean(x).
Value* read_centred(const Value* value, int64_t axes) {
  const Node* difference = find_maker(value, Op::kSub);
  if (difference == nullptr) return nullptr;
  Value* x = read_mean(difference->input(1), axes);
  return x == difference->input(0) ? x : nullptr;
}

bool fuse_centred_rows(Editor& editor, Node& node) {
  auto rows = node.is_erased() ? std::nullopt : read_unit_rows(node);
  if (!rows) return false;
  rows->x = read_centred(rows->x, rows->axes);
  if (rows->x == nullptr) return false;
  for (const bool uncast : {true, false}) {
    Normalization found{.rows = *rows, .last = &node};
    append_affine(found, uncast, true);
    if (replace_normalization(editor, found, Op::kLayerNormalization)) return true;
  }
  return false;
}

// Reads factor = scale / sqrt(variance(x) + epsilon).
std::optional<Normalization> read_factor(const Value* factor) {
  const Node* product = find_maker(factor, Op::kMul);
  for (const size_t i : {0, 1}) {
    if (product == nullptr) break;
    if (auto rows = read_inverse_root(product->input(i)))
      return Normalization{.rows = *rows, .scale = product->input(1 - i)};
  }
  const auto rows = read_inverse_root(factor);
  return rows ? std::optional(Normalization{.rows = *rows}) : std::nullopt;
}

// Reads shift - mean * factor, which gives `found` its shift; returns false for anything else.
bool read_shift(const Value* value, const Value* factor, Normalization& found) {
  const Node* difference = find_maker(value, Op::kSub);
  const Node* product =
      difference == nullptr ? nullptr : find_maker(difference->input(1), Op::kMul);
  if (product == nullptr) return false;
  const size_t mean = product->input(0) == factor ? 1 : 0;
  if (product->input(1 - mean) != factor ||
      read_mean(product->input(mean), found.rows.axes) != found.rows.x)
    return false;
  found.shift = difference->input(0);
  return true;
}

// Reads x * factor + (shift - mean * factor).
std::optional<Normalization> read_spread(Node& sum) {
  for (const size_t i : {0, 1}) {
    const Node* product = find_maker(sum.input(i), Op::kMul);
    for (const size_t k : {0, 1}) {
      const Value* factor = product == nullptr ? nullptr : product->input(k);
      auto found = read_factor(factor);
      if (!found) continue;
      found->rows.x = read_centred(found->rows.x, found->rows.axes);
      if (found->rows.x == nullptr || found->rows.x != product->input(1 - k) ||
          !read_shift(sum.input(1 - i), factor, *found))
        continue;
      found->last = &sum;
      return found;
    }
  }
  return std::nullopt;
}

bool fuse_spread(Editor& editor, Node& sum) {
  const auto found = sum.is_erased() ? std::nullopt : read_spread(sum);
  if (!found) return false;
  for (const Value* parameter : {found->scale, found->shift}) {
    if (parameter != nullptr &&
        !fits_rows(parameter->type(), found->rows.x->type(), found->rows.axes))
      return false;
  }
  return replace_normalization(editor, *found, Op::kLayerNormalization);
}

Result<bool> fuse_layer_normalizations(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (const Op op : {Op::kDiv, Op::kMul}) {
    for (Node* node : index.nodes(op)) changed = fuse_centred_rows(editor, *node) || changed;
  }
  for (Node* node : index.nodes(Op::kAdd)) changed = fuse_spread(editor, *node) || changed;
  return changed;
}

}  // namespace

Result<bool> fuse_layer_normalization(Graph& root, const Options&) {
  return on_every_graph(root, fuse_layer_normalizations);
}

}  // namespace sluice
