#include "stages/subgraph-optimize/engines/launch_operands.h"

#include "common/ir/clone.h"
#include "common/ops/attributes.h"

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

// Replaces a node by a Fused node with it, or with its body's nodes, as body, whose inputs are the
// operands of the launch: constants that became part of the kernel, and absent inputs, are none.
class Wrapper {
 public:
  Wrapper(Node& node, const std::vector<const Value*>& operands)
      : old_(node),
        old_body_(node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr),
        source_(old_body_ == nullptr ? node.graph() : *old_body_),
        operands_(operands),
        inside_(source_.value_limit(), nullptr) {}

  Node& run() {
    Graph& graph = old_.graph();
    Graph& body =
        graph.module().add_graph(old_.name().empty() ? "fused" : old_.name(), GraphRole::kFused);
    std::vector<Value*> inputs;
    for (size_t i = old_.output_count(); i < operands_.size(); ++i) {
      inputs.push_back(&outside_of(*operands_[i]));
      bind(*operands_[i], body.add_input(inputs.back()->type_id(), inputs.back()->name()));
    }
    bind_constants(body);
    ModuleMapper mapper(graph.module(), graph.module());
    if (old_body_ == nullptr) {
      mapper.clone_node(old_, body, inside_);
    } else {
      for (const Node& node : old_body_->nodes()) mapper.clone_node(node, body, inside_);
    }
    for (size_t i = 0; i < old_.output_count(); ++i) {
      const Value& result = old_body_ == nullptr ? old_.output(i) : *old_body_->outputs()[i];
      body.add_output(*inside_[static_cast<size_t>(result.id())]);
    }
    return replace(body, inputs);
  }

 private:
  // A constant of the body becomes one of the graph.
  Value& outside_of(const Value& value) {
    if (&value.graph() != old_body_) return const_cast<Value&>(value);
    return old_.graph().add_constant(value.segment(), value.name());
  }

  // The values of the source that are an operand: itself, and the inputs of the body that it is.
  void bind(const Value& operand, Value& input) {
    if (&operand.graph() == &source_) inside_[static_cast<size_t>(operand.id())] = &input;
    for (size_t i = 0; old_body_ != nullptr && i < old_.input_count(); ++i) {
      if (old_.input(i) == &operand)
        inside_[static_cast<size_t>(old_body_->inputs()[i]->id())] = &input;
    }
  }

  // Inputs of the body that are no operands are constants that became part of the kernel.
  void bind_constants(Graph& body) {
    for (size_t i = 0; old_body_ != nullptr && i < old_.input_count(); ++i) {
      const Value* outside = old_.input(i);
      Value*& inside = inside_[static_cast<size_t>(old_body_->inputs()[i]->id())];
      if (inside == nullptr && outside != nullptr && outside->is_constant())
        inside = &body.add_constant(outside->segment(), outside->name());
    }
  }

  Node& replace(Graph& body, const std::vector<Value*>& inputs) {
    Graph& graph = old_.graph();
    Node& node = graph.add_node(Op::kFused, inputs, old_.output_count(), &old_);
    node.set(attributes::Fused::body, GraphRef{body.id()});
    node.set_name(old_.name());
    node.set_origins(old_.origins());
    node.placement = old_.placement;
    for (size_t i = 0; i < old_.output_count(); ++i) {
      node.output(i).set_type(old_.output(i).type_id());
      node.output(i).set_name(old_.output(i).name());
      node.output(i).set_storage(old_.output(i).storage_id());
      graph.replace_all_uses(old_.output(i), node.output(i));
    }
    return node;
  }

  Node& old_;
  Graph* old_body_;
  Graph& source_;  // of the nodes that are wrapped
  const std::vector<const Value*>& operands_;
  std::vector<Value*> inside_;  // by id of the source's values
};

}  // namespace

Node& give_launch_operands(Node& node, loop::LoweredNode& lowered) {
  keep_an_input(node, lowered);
  return are_own_operands(node, lowered.operands) ? node : Wrapper(node, lowered.operands).run();
}

}  // namespace sluice
