#include "common/pass/pattern.h"

#include "common/ops/op_table.h"
#include "common/text/text.h"

namespace sluice {
namespace {

std::string node_obstacle(const Node& node) {
  if (!node.bodies().empty()) return fmt::format("{} has a body", node.label());
  if (!node.after().empty()) return fmt::format("{} has a control edge", node.label());
  const OpRow* row = find_op(node.op());
  if (row == nullptr) return fmt::format("{} is not in the op table", node.label());
  if (row->max_inputs < 0) return fmt::format("{} takes any number of inputs", node.label());
  if (row->max_outputs < 0) return fmt::format("{} gives any number of outputs", node.label());
  return {};
}

// Everything must lead to an output; other nodes would be left without a match.
std::string reach_obstacle(const Graph& graph) {
  std::vector<bool> reached(graph.node_limit(), false);
  std::vector<const Node*> queue;
  const auto reach = [&](const Value* value) {
    const Node* node = value == nullptr ? nullptr : value->producer();
    if (node == nullptr || reached[static_cast<size_t>(node->id())]) return;
    reached[static_cast<size_t>(node->id())] = true;
    queue.push_back(node);
  };
  for (const Value* output : graph.outputs()) reach(output);
  while (!queue.empty()) {
    const Node* node = queue.back();
    queue.pop_back();
    for (size_t i = 0; i < node->input_count(); ++i) reach(node->input(i));
  }
  for (const Node& node : graph.nodes()) {
    if (!reached[static_cast<size_t>(node.id())])
      return fmt::format("{} leads to no output", node.label());
  }
  for (const Value* input : graph.inputs()) {
    if (input->uses().empty()) return fmt::format("input '{}' leads to no output", input->name());
  }
  return {};
}

}  // namespace

Result<Pattern> Pattern::from_text(std::string_view text, const std::string& name) {
  Pattern pattern;
  SLUICE_ASSIGN(*pattern.module_, parse_module(text, name));
  return pattern;
}

Value& Pattern::constant(std::string capture) {
  const TypeId type = module_->intern(Type::fixed_tensor(DType::kF32, {}));
  return constant(module_->make_constant(type, std::vector<std::byte>(4)), std::move(capture));
}

Value& Pattern::node(Op op, const std::vector<Value*>& inputs, std::string capture) {
  Value& result = graph().add_node(op, inputs).output();
  result.set_name(std::move(capture));
  return result;
}

std::string Pattern::obstacle() const {
  if (graph().outputs().empty()) return "it has no output";
  for (const Value* output : graph().outputs()) {
    if (output->producer() == nullptr)
      return fmt::format("output '{}' is no node's result", output->name());
  }
  for (const Node& node : graph().nodes()) {
    if (std::string obstacle = node_obstacle(node); !obstacle.empty()) return obstacle;
  }
  if (auto ordered = graph().restore_order(); !ordered) return ordered.error().message;
  return reach_obstacle(graph());
}

}  // namespace sluice
