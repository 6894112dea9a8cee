#include "stages/preprocess/infer/bodies.h"

#include <optional>
#include <vector>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/pass/inline_body.h"

namespace sluice {
namespace {

// Returns the body's input that stands for the node's input `input`.
size_t body_input(const Graph& body, const Node& node, size_t input) {
  return body.inputs().size() - (node.input_count() - input);
}

bool is_read(const std::vector<Graph*>& bodies, const Node& node, size_t input) {
  for (const Graph* body : bodies) {
    if (body->inputs()[body_input(*body, node, input)]->is_used()) return true;
  }
  return false;
}

void drop_capture(const std::vector<Graph*>& bodies, Node& node, size_t input) {
  for (Graph* body : bodies) {
    body->remove_input(body_input(*body, node, input));
    --body->captures;
  }
  for (size_t i = input; i + 1 < node.input_count(); ++i) node.set_input(i, node.input(i + 1));
  node.remove_last_input();
}

std::optional<bool> constant_condition(const Node& node) {
  const Value* condition = node.input(0);
  if (condition == nullptr || !condition->is_constant()) return std::nullopt;
  const Segment& segment = node.graph().module().segment(condition->segment());
  if (segment.kind != SegmentKind::kSmall || segment.data.size() != 1) return std::nullopt;
  return segment.data[0] != std::byte{0};
}

// Returns the value that replaces an If's result. Graph outputs keep their names, so they need a
// value of their own.
Value* successor(Value& result, Value& value, bool is_new, Node& before) {
  if (!result.is_output()) return &value;
  if (is_new && !value.is_output()) {
    value.set_name(result.name());
    return &value;
  }
  Node& copy = before.graph().add_node(Op::kIdentity, {&value}, 1, &before);
  copy.add_origins(before.origins());
  copy.output().set_name(result.name());
  copy.output().set_type(result.type_id());
  return &copy.output();
}

}  // namespace

bool tidy_captures(Node& node) {
  std::vector<Graph*> bodies;
  for (const GraphId id : node.bodies()) bodies.push_back(&node.graph().module().graph(id));
  if (bodies.empty()) return false;
  bool changed = false;
  const size_t captures = bodies[0]->captures;
  // Goes from the last to the first, so that dropping one moves only captures already handled.
  for (size_t back = 0; back < captures; ++back) {
    const size_t input = node.input_count() - 1 - (back - (captures - bodies[0]->captures));
    if (node.input(input)->is_constant()) {
      for (Graph* body : bodies) {
        Value& inner = *body->inputs()[body_input(*body, node, input)];
        if (inner.is_used())
          body->replace_all_uses(inner,
                                 body->add_constant(node.input(input)->segment(), inner.name()));
      }
    }
    if (is_read(bodies, node, input)) continue;
    drop_capture(bodies, node, input);
    changed = true;
  }
  return changed;
}

Node* inline_decided_if(Node& node, bool& inlined) {
  inlined = false;
  const auto condition =
      node.op() == Op::kIf && !node.placement.keep ? constant_condition(node) : std::nullopt;
  const Graph* body = !condition   ? nullptr
                      : *condition ? node.get(attributes::If::then_branch)
                                   : node.get(attributes::If::else_branch);
  if (body == nullptr || body->outputs().size() != node.output_count()) return &node;
  inlined = true;
  Graph& graph = node.graph();
  Node* last_before = node.previous();
  const std::vector<Value*> results = inline_body(node, *body);
  for (size_t i = 0; i < node.output_count(); ++i) {
    const bool is_new = body->outputs()[i]->producer() != nullptr;
    graph.replace_all_uses(node.output(i), *successor(node.output(i), *results[i], is_new, node));
  }
  graph.erase_node(node);
  Node* first = last_before == nullptr ? graph.first_node() : last_before->next();
  return first;
}

bool erase_dead_nodes(Graph& graph) {
  bool changed = false;
  for (Node* node = graph.last_node(); node != nullptr; node = node->previous()) {
    for (const GraphId body : node->bodies())
      changed = erase_dead_nodes(graph.module().graph(body)) || changed;
    bool is_used = node->placement.keep || node->output_count() == 0;
    for (size_t i = 0; i < node->output_count(); ++i)
      is_used = is_used || node->output(i).is_used();
    if (is_used) continue;
    graph.erase_node(*node);
    changed = true;
  }
  return changed;
}

}  // namespace sluice
