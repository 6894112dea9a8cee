#include "common/pass/can_fuse.h"

#include <algorithm>
#include <unordered_set>

#include "common/ir/predecessors.h"

namespace sluice {
namespace {

using NodeSet = std::unordered_set<const Node*>;

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

bool have_one_plan(const std::vector<Node*>& nodes, std::string& reason) {
  reason = graph_obstacle(nodes);
  for (size_t i = 1; i < nodes.size() && reason.empty(); ++i)
    reason = plan_obstacle(*nodes[0], *nodes[i]);
  return reason.empty();
}

bool can_fuse(const std::vector<Node*>& nodes, std::string& reason) {
  if (!have_one_plan(nodes, reason)) return false;
  if (auto ordered = nodes[0]->graph().restore_order(); !ordered) {
    reason = ordered.error().message;
    return false;
  }
  reason = cycle_obstacle(nodes);
  return reason.empty();
}

}  // namespace sluice
