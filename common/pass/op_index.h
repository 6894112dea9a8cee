// The nodes of a graph by op.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// The nodes are in list order. Nodes that are added later are not in it; erased ones stay.
class OpIndex {
 public:
  explicit OpIndex(const Graph& graph) : nodes_(static_cast<size_t>(op_count())) {
    for (Node& node : graph.nodes()) nodes_[static_cast<size_t>(node.op())].push_back(&node);
  }
  const std::vector<Node*>& nodes(Op op) const { return nodes_[static_cast<size_t>(op)]; }

 private:
  std::vector<std::vector<Node*>> nodes_;
};

}  // namespace sluice
