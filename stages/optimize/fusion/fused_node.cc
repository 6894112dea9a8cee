#include "stages/optimize/fusion/fused_node.h"

#include "common/ops/attributes.h"

namespace sluice {

bool belongs_in_body(const Value& value) {
  if (!value.is_constant() || value.is_input() || value.type().element_count() != 1) return false;
  return value.graph().module().segment(value.segment()).kind == SegmentKind::kSmall;
}

FusedNode::FusedNode(Editor& editor, Value& end)
    : editor_(editor),
      end_(end),
      body_(end.graph().module().add_graph(end.name().empty() ? "fused" : end.name(),
                                           GraphRole::kFused)) {}

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

Node& FusedNode::replace(const Node& anchor, const std::vector<Node*>& nodes) {
  Graph& graph = editor_.graph();
  body_.add_output(inside(end_));
  int64_t anchor_index = 0;
  for (const Node& node : body_.nodes()) {
    if (&node == inside_.at(&anchor.output())->producer()) break;
    ++anchor_index;
  }
  Node& fused = graph.add_node(Op::kFused, inputs_, 0, nodes.back());
  fused.set(attributes::Fused::anchor, anchor_index);
  fused.set(attributes::Fused::body, GraphRef{body_.id()});
  fused.set_name(anchor.name());
  fused.placement = anchor.placement;
  for (const Node* node : nodes) fused.add_origins(node->origins());
  Value& result = fused.add_output(end_.type_id(), end_.name());
  graph.replace_all_uses(end_, result);
  editor_.control().transfer(nodes, {&fused});
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
    known = belongs_in_body(outer) ? &body_.add_constant(outer.segment(), outer.name())
                                   : &add_input(outer);
  return *known;
}

void FusedNode::copy(const Node& node, const std::vector<Value*>& operands) {
  Node& copy = body_.add_node(node.op(), operands, 0);
  for (const Attribute& attribute : node.attributes())
    copy.set_attribute(attribute.name, attribute.value);
  copy.set_name(node.name());
  copy.add_origins(node.origins());
  inside_[&node.output()] = &copy.add_output(node.output().type_id(), node.output().name());
}

}  // namespace sluice
