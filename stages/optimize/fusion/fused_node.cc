#include "stages/optimize/fusion/fused_node.h"

#include "common/base/work.h"
#include "common/ops/attributes.h"
#include "common/ops/small_constant.h"

namespace sluice {

FusedNode::FusedNode(Editor& editor, std::vector<Value*> ends)
    : editor_(editor),
      ends_(std::move(ends)),
      body_(editor.graph().module().add_graph(
          ends_.back()->name().empty() ? "fused" : ends_.back()->name(), GraphRole::kFused)) {}

void FusedNode::copy_anchor(const Node& anchor) {
  std::vector<Value*> operands;
  for (size_t i = 0; i < anchor.input_count(); ++i)
    operands.push_back(anchor.input(i) == nullptr ? nullptr : &add_input(*anchor.input(i)));
  copy(anchor, operands);
}

void FusedNode::copy(const Node& node) {
  std::vector<Value*> operands;
  for (size_t i = 0; i < node.input_count(); ++i)
    operands.push_back(node.input(i) == nullptr ? nullptr : &inside(*node.input(i)));
  copy(node, operands);
}

void FusedNode::take_in(const Value& constant) {
  Value*& known = inside_[&constant];
  if (known == nullptr) known = &body_.add_constant(constant.segment(), constant.name());
}

Node& FusedNode::replace(const Node& anchor, const std::vector<Node*>& nodes) {
  int64_t anchor_index = 0;
  for (const Node& node : body_.nodes()) {
    if (&node == inside_.at(&anchor.output())->producer()) break;
    ++anchor_index;
  }
  Node& fused = put(anchor, nodes);
  fused.set(attributes::Fused::anchor, anchor_index);
  return fused;
}

Node& FusedNode::replace(const std::vector<Node*>& nodes) { return put(*nodes.back(), nodes); }

// The new node gets name and placement of `model`; one that is kept makes it kept.
Node& FusedNode::put(const Node& model, const std::vector<Node*>& nodes) {
  Graph& graph = editor_.graph();
  Node& fused = graph.add_node(Op::kFused, inputs_, 0, nodes.back());
  fused.set(attributes::Fused::body, GraphRef{body_.id()});
  fused.set_name(model.name());
  fused.placement = model.placement;
  for (const Node* node : nodes) {
    fused.add_origins(node->origins());
    fused.placement.keep = fused.placement.keep || node->placement.keep;
  }
  for (Value* end : ends_) {
    body_.add_output(inside(*end));
    Value& result = fused.add_output(end->type_id(), end->name());
    graph.replace_all_uses(*end, result);
  }
  editor_.control().transfer(nodes, {&fused});
  add_work(Work::kMatches);
  add_work(Work::kReplacements);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) graph.erase_node(**node);
  return fused;
}

Value& FusedNode::add_input(Value& outer) {
  inputs_.push_back(&outer);
  return body_.add_input(outer.type_id(), outer.name());
}

Value& FusedNode::inside(Value& outer) {
  Value*& known = inside_[&outer];
  if (known == nullptr)
    known = is_small_scalar(outer) ? &body_.add_constant(outer.segment(), outer.name())
                                   : &add_input(outer);
  return *known;
}

void FusedNode::copy(const Node& node, const std::vector<Value*>& operands) {
  Node& copy = body_.add_node(node.op(), operands, 0);
  for (const Attribute& attribute : node.attributes())
    copy.set_attribute(attribute.name, attribute.value);
  copy.set_name(node.name());
  copy.add_origins(node.origins());
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Value& result = node.output(i);
    inside_[&result] = &copy.add_output(result.type_id(), result.name());
  }
}

}  // namespace sluice
