// Transposes the integers of weights instead of their dequantized values, so that a contraction
// reads dequantized weights directly.
//
//   before:  %1 = DequantizeLinear(%w, s, z) {axis = 0}   %2 = Transpose(%1) {perm = [1, 0]}
//            %y = MatMul(%x, %2)
//   after:   %2 = DequantizeLinear(%v, s, z) {axis = 1}   %y = MatMul(%x, %2)
//            v: constant, Transpose(w)
//
// Legal because each element has the scale of its own index along the axis, which the permutation
// moves too. The pass applies to constants of 8-bit integers, without scales in blocks. %1 stays if
// something else reads it.
#include <algorithm>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/pass/editor.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// Returns the axis of the scales after the permutation; nothing when the node is not such a
// dequantization.
std::optional<int64_t> permuted_axis(const Node& dequantize,
                                     const std::vector<int64_t>& permutation) {
  const Value& integers = *dequantize.input(0);
  const DType dtype = integers.type().dtype;
  if (!integers.is_constant() || integers.is_input() ||
      (dtype != DType::kI8 && dtype != DType::kU8))
    return std::nullopt;
  if (dequantize.get(attributes::DequantizeLinear::block_size) != 0 || !integers.type().is_fixed())
    return std::nullopt;
  const Type& scale = dequantize.input(1)->type();
  const auto rank = static_cast<int64_t>(permutation.size());
  if (scale.element_count() == 1) return 0;
  int64_t axis = dequantize.get(attributes::DequantizeLinear::axis);
  if (axis < 0) axis += rank;
  const auto found = std::find(permutation.begin(), permutation.end(), axis);
  if (scale.rank() != 1 || found == permutation.end()) return std::nullopt;
  return found - permutation.begin();
}

Value& transposed(Graph& graph, const Value& integers, const std::vector<int64_t>& permutation) {
  Module& module = graph.module();
  const std::vector<int64_t> dims = *integers.type().extents();
  std::vector<int64_t> moved;
  for (const int64_t axis : permutation) moved.push_back(dims[static_cast<size_t>(axis)]);
  Graph& expression = module.add_graph("transpose", GraphRole::kExpression);
  Node& node =
      expression.add_node(Op::kTranspose, {&expression.add_input(integers.type_id(), "in")}, 1);
  node.set(attributes::Transpose::perm, permutation);
  node.output().set_type(Type::fixed_tensor(integers.type().dtype, moved));
  expression.add_output(node.output());
  return graph.add_constant(
      module.make_expression(node.output().type_id(), expression.id(), {integers.segment()}),
      integers.name() + ":transposed");
}

Result<bool> fold_weight_transposes(Graph& graph) {
  Editor editor(graph);
  bool changed = false;
  for (Node& node : graph.nodes()) {
    Node* dequantize = node.op() == Op::kTranspose ? node.input(0)->producer() : nullptr;
    if (dequantize == nullptr || dequantize->op() != Op::kDequantizeLinear ||
        !(dequantize->placement == node.placement) || node.placement.keep)
      continue;
    const std::vector<int64_t> permutation = node.get(attributes::Transpose::perm);
    if (permutation.size() != static_cast<size_t>(dequantize->input(0)->type().rank())) continue;
    const auto axis = permuted_axis(*dequantize, permutation);
    if (!axis) continue;
    node.set_op(Op::kDequantizeLinear);
    node.remove(attributes::Transpose::perm);
    for (const Attribute& attribute : dequantize->attributes())
      node.set_attribute(attribute.name, attribute.value);
    node.set(attributes::DequantizeLinear::axis, *axis);
    node.set_input(0, &transposed(graph, *dequantize->input(0), permutation));
    for (size_t i = 1; i < dequantize->input_count(); ++i) node.add_input(dequantize->input(i));
    node.add_origins(dequantize->origins());
    editor.erase_unused(*dequantize);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> fold_transpose_into_weights(Graph& root, const Options&) {
  return on_every_graph(root, fold_weight_transposes);
}

}  // namespace sluice
