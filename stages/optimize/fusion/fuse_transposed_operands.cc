// Moves a Transpose into the bodies of the matrix products that read it.
//
//   before:  %1 = Transpose(%x) {perm = [0, 2, 1]}   %y = MatMul(%a, %1)
//   after:   %y = Fused(%a, %x) {anchor = 1, body = @y}
//            @y(%a, %x):  %1 = Transpose(%x) {perm = [0, 2, 1]}   %y = MatMul(%a, %1)
//
// Legal because the body computes exactly what the nodes computed, and every reader of %1 is such a
// product, so that no node produces %1 any more. Readers are MatMul and Gemm nodes, and Fused nodes
// around one whose body passes %1 to its anchor alone; all have the Transpose's placement and are
// nodes that the aicore engine takes (common/target/aicore.h), whose kernels read operands of any
// strides. Measured at 12 heads of 64 and 128 or 512 rows, a product through a transposition costs
// up to an eighth more than one of dense operands, of one row twice as much; the Transpose costs
// more than that in every case.
//
// The pass applies only where elements that are neighbours in %x stay so along rows or columns of
// the operand: otherwise a kernel would read a line of the cache for each element, several times,
// where the Transpose does so once. Constants are left alone: they are transposed at compile time.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "stages/optimize/fusion/fused_node.h"
#include "stages/optimize/fusion/fusion.h"

namespace sluice {
namespace {

bool is_product(const Node& node) { return node.op() == Op::kMatMul || node.op() == Op::kGemm; }

bool keeps_lines(const Node& transpose) {
  const std::vector<int64_t> order = transpose_order(transpose);
  const auto last = static_cast<int64_t>(order.size()) - 1;
  return last >= 1 && (order[order.size() - 1] == last || order[order.size() - 2] == last);
}

// Returns whether `input` is a matrix operand of a plain product.
bool takes(const Node& product, size_t input) {
  return input == 0 || (input == 1 && takes_second_transposed(product));
}

// Returns whether the anchor reads input `input` of the Fused node as a matrix, and nothing else in
// the body reads it.
bool hands_to_anchor(const Node& fused, size_t input) {
  const Graph& body = *fused.get(attributes::Fused::body);
  const Node* anchor = find_anchor(body);
  if (anchor == nullptr || !is_product(*anchor) || read_quantized(fused)) return false;
  const Value& operand = *body.inputs()[input];
  return !operand.is_output() &&
         std::all_of(operand.uses().begin(), operand.uses().end(), [&](const Use& use) {
           return use.node == anchor && takes(*anchor, use.input);
         });
}

bool can_read(const Use& use, const Node& transpose) {
  const Node& node = *use.node;
  if (!is_alike_but_precision(node.placement, transpose.placement) ||
      !aicore_unsupported_reason(node).empty())
    return false;
  return node.op() == Op::kFused
             ? hands_to_anchor(node, use.input)
             : is_product(node) && !node.placement.keep && takes(node, use.input);
}

bool can_move(const Node& transpose) {
  if (transpose.op() != Op::kTranspose || !is_removable(transpose)) return false;
  const Value &source = *transpose.input(0), &result = transpose.output();
  if (source.is_constant() || result.is_output() || result.uses().empty() ||
      !keeps_lines(transpose))
    return false;
  return std::all_of(result.uses().begin(), result.uses().end(),
                     [&](const Use& use) { return can_read(use, transpose); });
}

Node& wrap(Editor& editor, Node& product) {
  FusedNode fused(editor, product.output());
  fused.copy_anchor(product);
  return fused.replace(product, {&product});
}

int64_t index_of(const Graph& body, const Node* wanted) {
  int64_t index = 0;
  for (const Node& node : body.nodes()) {
    if (&node == wanted) break;
    ++index;
  }
  return index;
}

void move_into(Node& fused, size_t input, const Node& transpose) {
  Graph& body = *fused.get(attributes::Fused::body);
  Node* anchor = const_cast<Node*>(find_anchor(body));
  Value& source = *transpose.input(0);
  Value& operand = *body.inputs()[input];
  Node& copy = body.add_node(Op::kTranspose, {}, 0, anchor);
  for (const Attribute& attribute : transpose.attributes())
    copy.set_attribute(attribute.name, attribute.value);
  copy.set_name(transpose.name());
  copy.add_origins(transpose.origins());
  Value& result = copy.add_output(operand.type_id(), transpose.output().name());
  body.replace_all_uses(operand, result);
  copy.add_input(&operand);
  operand.set_type(source.type_id());
  operand.set_name(source.name());
  fused.set_input(input, &source);
  fused.set(attributes::Fused::anchor, index_of(body, anchor));
  fused.add_origins(transpose.origins());
}

void move(Editor& editor, Node& transpose) {
  while (!transpose.output().uses().empty()) {
    const Use use = transpose.output().uses().front();
    Node& fused = use.node->op() == Op::kFused ? *use.node : wrap(editor, *use.node);
    move_into(fused, use.input, transpose);
  }
  editor.erase_unused(transpose);
}

Result<bool> move_transposes(Graph& graph) {
  Editor editor(graph);
  std::vector<Node*> found;
  for (Node& node : graph.nodes()) {
    if (can_move(node)) found.push_back(&node);
  }
  for (Node* node : found) move(editor, *node);
  return !found.empty();
}

}  // namespace

Result<bool> fuse_transposed_operands(Graph& root, const Options&) {
  return on_every_graph(root, move_transposes);
}

}  // namespace sluice
