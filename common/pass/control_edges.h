// The control edges of a graph from both ends. Nodes know what they run after; this also knows what
// runs after them.
#pragma once

#include <map>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

class ControlEdges {
 public:
  explicit ControlEdges(const Graph& graph);

  bool empty() const { return followers_.empty(); }
  // Call before `nodes` are erased: each heir runs after what they ran after, and what ran after
  // them runs after the heirs. Without heirs what ran after them runs after what they ran after.
  void transfer(const std::vector<Node*>& nodes, const std::vector<Node*>& heirs);

 private:
  void add(Node& before, Node& node);

  std::map<int32_t, std::vector<Node*>> followers_;  // by node id
};

}  // namespace sluice
