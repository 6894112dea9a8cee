// The control edges of a graph from both ends. A node knows its predecessors; this class also knows
// its followers.
#pragma once

#include <map>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

class ControlEdges {
 public:
  explicit ControlEdges(const Graph& graph);

  bool empty() const { return followers_.empty(); }
  // Must be called before `nodes` are erased: each heir gets their predecessors and followers.
  // Without heirs the followers get their predecessors.
  void transfer(const std::vector<Node*>& nodes, const std::vector<Node*>& heirs);

 private:
  void add(Node& before, Node& node);

  std::map<int32_t, std::vector<Node*>> followers_;  // by node id
};

}  // namespace sluice
