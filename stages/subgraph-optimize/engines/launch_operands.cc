#include "stages/subgraph-optimize/engines/launch_operands.h"

#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/fused_builder.h"

namespace sluice {
namespace {

// Whether a launch of the node itself has these operands: all its results, then all its inputs.
bool are_own_operands(const Node& node, const std::vector<const Value*>& operands) {
  if (operands.size() != node.output_count() + node.input_count()) return false;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (operands[node.output_count() + i] != node.input(i)) return false;
  return true;
}

// A node has an input, also where its kernel reads none: all were constants that became part of it.
void keep_an_input(const Node& node, loop::LoweredNode& lowered) {
  if (lowered.operands.size() > node.output_count()) return;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) continue;
    lowered.operands.push_back(node.input(i));
    return;
  }
}

// A constant of the body becomes one of the graph.
Value& outside_of(const Value& operand, Graph& graph) {
  if (&operand.graph() == &graph) return const_cast<Value&>(operand);
  return graph.add_constant(operand.segment(), operand.name());
}

// Makes each operand of the launch an input of the new body, which stands for the operand itself
// and for the inputs of the old body that it is.
void add_operands(FusedBuilder& builder, const Node& node, const Graph* body,
                  const std::vector<const Value*>& operands) {
  for (size_t i = node.output_count(); i < operands.size(); ++i) {
    Value& input = builder.input(outside_of(*operands[i], node.graph()));
    builder.bind(*operands[i], input);
    for (size_t k = 0; body != nullptr && k < node.input_count(); ++k) {
      if (node.input(k) == operands[i]) builder.bind(*body->inputs()[k], input);
    }
  }
}

// Inputs of the old body that are no operands are constants that became part of the kernel.
void add_constants(FusedBuilder& builder, const Node& node, const Graph& body) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* outside = node.input(i);
    if (outside != nullptr && outside->is_constant())
      builder.bind_constant(*body.inputs()[i], *outside);
  }
}

// Makes a Fused node with the node, or with its body's nodes, as body, whose inputs are the
// operands of the launch: constants that became part of the kernel, and absent inputs, are none.
Node& wrap(Node& node, const std::vector<const Value*>& operands) {
  FusedBuilder builder(node);
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  add_operands(builder, node, body, operands);
  if (body != nullptr) {
    add_constants(builder, node, *body);
    for (const Node& inner : body->nodes()) builder.value(inner.output());
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Value& result = body == nullptr ? node.output(i) : *body->outputs()[i];
    builder.add_result(builder.value(result), &node.output(i));
  }
  return builder.finish(node.name());
}

}  // namespace

Node& give_launch_operands(Node& node, loop::LoweredNode& lowered) {
  keep_an_input(node, lowered);
  return are_own_operands(node, lowered.operands) ? node : wrap(node, lowered.operands);
}

}  // namespace sluice
