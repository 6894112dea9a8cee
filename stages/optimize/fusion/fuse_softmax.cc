// Makes one Softmax, or LogSoftmax, of the nodes that exporters write for it.
//
//   before:  %m = ReduceMax(%x, [1]) {keepdims = 1}   %d = Sub(%x, %m)   %e = Exp(%d)
//            %s = ReduceSum(%e, [1]) {keepdims = 1}   %y = Div(%e, %s)
//   after:   %y = Softmax(%x) {axis = 1}
//
//   before:  %s = ReduceLogSumExp(%x, [1]) {keepdims = 1}   %y = Sub(%x, %s)
//   after:   %y = LogSoftmax(%x) {axis = 1}
//
// The quotient may be a product with the Reciprocal; LogSoftmax may also be %d - Log(%s). Legal
// because the operators mean these formulas, shifted by the maximum as here. All reductions must be
// over the same single axis. No value in between may be read elsewhere.
#include "common/ops/attributes.h"
#include "common/pass/pattern_matcher.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

// A value and the axis along which something is computed of it.
struct Along {
  Value* x = nullptr;
  int64_t axis = 0;
};

// Returns the operand of a reduction over one axis, which stays as 1.
std::optional<Along> read_reduction(const Value* value, Op op) {
  const Node* node = find_maker(value, op);
  const auto axes = node == nullptr ? std::nullopt : kept_axes(*node);
  if (!axes || axes->size() != 1) return std::nullopt;
  return Along{node->input(0), axes->front()};
}

// Returns x when the value is x - max(x) along the axis.
Value* read_shifted(const Value* value, int64_t axis) {
  const Node* difference = find_maker(value, Op::kSub);
  if (difference == nullptr) return nullptr;
  const auto largest = read_reduction(difference->input(1), Op::kReduceMax);
  const bool fits = largest && largest->axis == axis && largest->x == difference->input(0);
  return fits ? largest->x : nullptr;
}

// Reads exp(x - max(x)) * factor with factor = 1 / sum(exp(x - max(x))).
std::optional<Along> read_softmax(const Value* powers, const Value* sum) {
  const auto total = read_reduction(sum, Op::kReduceSum);
  const Node* exp = find_maker(powers, Op::kExp);
  if (!total || exp == nullptr || total->x != powers) return std::nullopt;
  Value* x = read_shifted(exp->input(0), total->axis);
  return x == nullptr ? std::nullopt : std::optional(Along{x, total->axis});
}

std::optional<Along> read_softmax_product(const Node& product) {
  for (const size_t i : {0, 1}) {
    const Node* inverse = find_maker(product.input(i), Op::kReciprocal);
    if (inverse == nullptr) continue;
    if (auto found = read_softmax(product.input(1 - i), inverse->input(0))) return found;
  }
  return std::nullopt;
}

// Reads x - logsumexp(x), or (x - max(x)) - log(sum(exp(x - max(x)))).
std::optional<Along> read_log_softmax(const Node& difference) {
  if (const auto whole = read_reduction(difference.input(1), Op::kReduceLogSumExp))
    return whole->x == difference.input(0) ? whole : std::nullopt;
  const Node* log = find_maker(difference.input(1), Op::kLog);
  const auto total = log == nullptr ? std::nullopt : read_reduction(log->input(0), Op::kReduceSum);
  const Node* exp = total ? find_maker(total->x, Op::kExp) : nullptr;
  if (exp == nullptr || exp->input(0) != difference.input(0)) return std::nullopt;
  Value* x = read_shifted(difference.input(0), total->axis);
  return x == nullptr ? std::nullopt : std::optional(Along{x, total->axis});
}

bool fuse_softmax_nodes(Editor& editor, Node& last, Op op, const std::optional<Along>& found) {
  if (!found || found->x->type_id() != last.output().type_id()) return false;
  Node* made = replace_between(editor, {found->x}, last, op);
  if (made == nullptr) return false;
  made->set(attributes::Softmax::axis, found->axis);
  return true;
}

Result<bool> fuse_softmaxes(Graph& graph) {
  Editor editor(graph);
  const OpIndex index(graph);
  bool changed = false;
  for (Node* node : index.nodes(Op::kDiv))
    changed = fuse_softmax_nodes(editor, *node, Op::kSoftmax,
                                 read_softmax(node->input(0), node->input(1))) ||
              changed;
  for (Node* node : index.nodes(Op::kMul))
    changed =
        fuse_softmax_nodes(editor, *node, Op::kSoftmax, read_softmax_product(*node)) || changed;
  for (Node* node : index.nodes(Op::kSub)) {
    if (!node->is_erased())
      changed =
          fuse_softmax_nodes(editor, *node, Op::kLogSoftmax, read_log_softmax(*node)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_softmax(Graph& root, const Options&) {
  return on_every_graph(root, fuse_softmaxes);
}

}  // namespace sluice
