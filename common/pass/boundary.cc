#include "common/pass/boundary.h"

#include <algorithm>
#include <unordered_set>

#include "common/ir/predecessors.h"

namespace sluice {
namespace {

using NodeSet = std::unordered_set<const Node*>;

bool is_read_outside(const Value& value, const NodeSet& inside) {
  return value.is_output() ||
         std::any_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return !inside.contains(use.node); });
}

std::string graph_obstacle(const std::vector<Node*>& nodes) {
  if (nodes.empty() || std::find(nodes.begin(), nodes.end(), nullptr) != nodes.end())
    return "there are no nodes";
  for (const Node* node : nodes) {
    if (node->is_erased()) return fmt::format("{} is erased", node->label());
    if (&node->graph() != &nodes[0]->graph())
      return fmt::format("{} is of another graph than {}", node->label(), nodes[0]->label());
  }
  return {};
}

std::string plan_obstacle(const Node& first, const Node& node) {
  const auto differ = [&](std::string_view what) {
    return fmt::format("{} has another {} than {}", node.label(), what, first.label());
  };
  if (user_label(node.placement.stream_label) != user_label(first.placement.stream_label))
    return differ("stream label");
  if (node.placement.stage_level != first.placement.stage_level) return differ("stage level");
  if (node.placement.parallel_group != first.placement.parallel_group)
    return differ("parallel group");
  if (node.placement.super_kernel_scope != first.placement.super_kernel_scope)
    return differ("super-kernel scope");
  if (node.placement.memory_class != first.placement.memory_class) return differ("memory class");
  if (node.placement.engine != first.placement.engine) return differ("engine");
  return {};
}

// Searches breadth first, backwards from the outside inputs of the nodes. Nodes before the first of
// them cannot be reached from them.
std::string cycle_obstacle(const std::vector<Node*>& nodes) {
  const NodeSet inside(nodes.begin(), nodes.end());
  const Node* first = *std::min_element(
      nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->is_before(*b); });
  NodeSet seen;
  std::vector<const Node*> queue;
  const auto reach = [&](const Node& node) {
    if (!inside.contains(&node) && first->is_before(node) && seen.insert(&node).second)
      queue.push_back(&node);
  };
  for (const Node* node : nodes) for_each_predecessor(*node, reach);
  for (size_t i = 0; i < queue.size(); ++i) {
    const Node* back = nullptr;
    for_each_predecessor(*queue[i], [&](const Node& before) {
      if (inside.contains(&before)) back = &before;
      reach(before);
    });
    if (back != nullptr)
      return fmt::format("a path from {} through {} comes back: a cycle", back->label(),
                         queue[i]->label());
  }
  return {};
}

}  // namespace

std::string boundary_obstacle(const Boundary& boundary) {
  if (std::string obstacle = graph_obstacle(boundary.nodes); !obstacle.empty()) return obstacle;
  const NodeSet inside(boundary.nodes.begin(), boundary.nodes.end());
  const Graph& graph = boundary.nodes[0]->graph();
  for (const Value* input : boundary.inputs) {
    if (input == nullptr || &input->graph() != &graph) return "an input is of another graph";
    if (inside.contains(input->producer()))
      return fmt::format("input '{}' is made inside", input->name());
  }
  std::unordered_set<const Value*> outputs;
  for (const Value* output : boundary.outputs) {
    if (output == nullptr || !inside.contains(output->producer()))
      return "an output is not made inside";
    if (!outputs.insert(output).second)
      return fmt::format("output '{}' is named twice", output->name());
  }
  for (const Node* node : boundary.nodes) {
    for (size_t i = 0; i < node->output_count(); ++i) {
      const Value& result = node->output(i);
      if (!outputs.contains(&result) && is_read_outside(result, inside)) {
        return fmt::format("result {} of {} is read outside", i, node->label());
      }
    }
  }
  return {};
}

bool can_fuse(const std::vector<Node*>& nodes, std::string& reason) {
  reason = graph_obstacle(nodes);
  for (size_t i = 1; i < nodes.size() && reason.empty(); ++i)
    reason = plan_obstacle(*nodes[0], *nodes[i]);
  if (!reason.empty()) return false;
  if (auto ordered = nodes[0]->graph().restore_order(); !ordered) {
    reason = ordered.error().message;
    return false;
  }
  reason = cycle_obstacle(nodes);
  return reason.empty();
}

}  // namespace sluice
