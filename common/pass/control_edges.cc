#include "common/pass/control_edges.h"

#include <algorithm>

namespace sluice {

ControlEdges::ControlEdges(const Graph& graph) {
  if (!graph.may_have_control_edges()) return;
  for (Node& node : graph.nodes()) {
    for (const Node* before : node.after()) {
      if (!before->is_erased()) followers_[before->id()].push_back(&node);
    }
  }
}

void ControlEdges::add(Node& before, Node& node) {
  node.add_after(before);
  followers_[before.id()].push_back(&node);
}

void ControlEdges::transfer(const std::vector<Node*>& nodes, const std::vector<Node*>& heirs) {
  if (empty()) return;
  std::vector<Node*> before, behind;
  const auto collect = [&](std::vector<Node*>& list, Node* node) {
    const bool inside = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    if (!inside && !node->is_erased() && std::find(list.begin(), list.end(), node) == list.end())
      list.push_back(node);
  };
  for (const Node* node : nodes) {
    for (Node* earlier : node->after()) collect(before, earlier);
    const auto found = followers_.find(node->id());
    if (found == followers_.end()) continue;
    for (Node* later : found->second) collect(behind, later);
  }
  for (Node* heir : heirs) {
    for (Node* earlier : before) add(*earlier, *heir);
    for (Node* later : behind) add(*heir, *later);
  }
  if (!heirs.empty()) return;
  for (Node* earlier : before) {
    for (Node* later : behind) add(*earlier, *later);
  }
}

}  // namespace sluice
