// Makes convolutions along one axis those of images with one line, which the aicore engine takes.
//
//   before:  %1 = Conv(%x, %w) {pads = [1, 1]}   %y = Relu(%1)
//   after:   %2 = Reshape(%x, [N, C, 1, L])      %3 = Conv(%2, %w') {pads = [0, 1, 0, 1]}
//            %4 = Relu(%3)                       %y = Reshape(%4, [N, M, L])
//
// Legal because the new axis has one element, a filter of one and no padding. The weight gets the
// same axis; one that is constant is reshaped by sluice-build. A transposed convolution is widened
// in the same way. All Reshapes are views. Elementwise nodes that alone read the result, one after
// the other, follow it, so that they may become its epilogue. Must run after the passes that look
// for convolutions and their neighbours of any rank.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/pass/editor.h"
#include "common/target/aicore.h"
#include "stages/optimize/constants.h"
#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/node_maker.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// An empty one stays: a Reshape to no elements cannot be distinguished from one that copies a dim.
bool is_line(const Value& value) {
  const Type& type = value.type();
  return type.is_tensor() && is_contraction_dtype(type.dtype) && !type.has_unknown() &&
         type.rank() == 3 && std::ranges::find(type.dims, Dim::fixed(0)) == type.dims.end();
}

bool can_widen(const Node& conv) {
  const bool is_transposed = conv.op() == Op::kConvTranspose;
  return (conv.op() == Op::kConv || is_transposed) && conv.placement.engine == EngineId::kNone &&
         !conv.placement.keep && is_line(*conv.input(0)) && is_line(conv.output()) &&
         is_line(*conv.input(1)) && conv.input(1)->type().is_fixed() &&
         (is_transposed || conv.get(attributes::Window::auto_pad) == "NOTSET");
}

// Inserts a line axis before the last one; operands without an axis before that broadcast as they
// are.
std::vector<Dim> widened(std::vector<Dim> dims) {
  if (dims.size() > 1) dims.insert(dims.end() - 1, Dim::fixed(1));
  return dims;
}

Value& widened_operand(NodeMaker& make, Value& operand) {
  const std::vector<Dim> dims = widened(operand.type().dims);
  if (!is_weight(&operand)) return make.reshape(operand, dims);
  Graph& graph = operand.graph();
  ConstantExpression expression(graph.module(), operand.name());
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) extents.push_back(dim.value);
  Value& result = expression.reshape(expression.input(operand.segment()), extents);
  return graph.add_constant(expression.finish(result), operand.name());
}

void widen_attributes(Node& conv) {
  const auto widen = [&](const IntsAttribute& attribute, int64_t first, size_t count) {
    std::vector<int64_t> given = conv.get(attribute, count);
    for (size_t i = 0; i < count; ++i)
      given.insert(given.begin() + static_cast<std::ptrdiff_t>(2 * i), first);
    conv.set(attribute, std::move(given));
  };
  if (conv.has(attributes::Conv::kernel_shape)) widen(attributes::Conv::kernel_shape, 1, 1);
  if (conv.has(attributes::Strided::strides)) widen(attributes::Strided::strides, 1, 1);
  if (conv.has(attributes::Dilated::dilations)) widen(attributes::Dilated::dilations, 1, 1);
  if (conv.has(attributes::Strided::pads)) widen(attributes::Strided::pads, 0, 2);
  if (conv.op() != Op::kConvTranspose) return;
  if (conv.has(attributes::ConvTranspose::output_padding))
    widen(attributes::ConvTranspose::output_padding, 0, 1);
  // It may begin with the batch and the channels.
  if (std::vector<int64_t> shape = conv.get(attributes::ConvTranspose::output_shape);
      !shape.empty()) {
    shape.insert(shape.end() - 1, 1);
    conv.set(attributes::ConvTranspose::output_shape, std::move(shape));
  }
}

// Returns the node that alone reads the result and can compute it in the wider shape, or null.
Node* find_follower(const Node& node, const Placement& placement) {
  Node* reader = find_only_reader(node.output());
  if (reader == nullptr || reader->placement.keep ||
      !is_alike_but_precision(placement, reader->placement))
    return nullptr;
  const OpRow* row = find_op(reader->op());
  if (row == nullptr || (row->flags & kElementwise) == 0 ||
      reader->output().type().dims != node.output().type().dims)
    return nullptr;
  for (size_t i = 0; i < reader->input_count(); ++i) {
    if (reader->input(i) != nullptr && reader->input(i)->type().has_unknown()) return nullptr;
  }
  return reader;
}

// Gives the node's result, and what it reads besides `own`, the line axis.
void widen(Editor& editor, Node& node, const Value* own) {
  NodeMaker make(editor, node);
  for (size_t i = 0; i < node.input_count(); ++i) {
    Value* input = node.input(i);
    if (input != nullptr && input != own && input->type().rank() > 1)
      node.set_input(i, &widened_operand(make, *input));
  }
  Type type = node.output().type();
  type.dims = widened(std::move(type.dims));
  node.output().set_type(std::move(type));
}

void widen_chain(Editor& editor, Node& conv) {
  std::vector<Node*> chain = {&conv};
  while (Node* next = find_follower(*chain.back(), conv.placement)) chain.push_back(next);
  Node& last = *chain.back();
  Node& view = editor.graph().add_node(Op::kReshape, {}, 0, last.next());
  view.set_name(last.name());
  view.placement = conv.placement;
  view.add_origins(last.origins());
  Value& result = view.add_output(last.output().type_id(), last.output().name());
  editor.replace(last.output(), result);
  last.output().set_name({});
  widen_attributes(conv);
  const Value* own = nullptr;
  for (Node* node : chain) {
    widen(editor, *node, own);
    own = &node->output();
  }
  view.add_input(&last.output());
  view.add_input(
      &add_ints(editor.graph(), reshape_target(last.output().type().dims, result.type().dims)));
}

Result<bool> widen_convolutions(Graph& graph) {
  Editor editor(graph);
  std::vector<Node*> found;
  for (Node& node : graph.nodes()) {
    if (can_widen(node)) found.push_back(&node);
  }
  for (Node* conv : found) widen_chain(editor, *conv);
  return !found.empty();
}

}  // namespace

Result<bool> widen_convolution(Graph& root, const Options&) {
  return on_every_graph(root, widen_convolutions);
}

}  // namespace sluice
