// The predecessors of a node: the producers of its inputs, and the nodes of its control edges.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Calls function(const Node&), once for each edge.
template <typename Function>
void for_each_predecessor(const Node& node, Function function) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->producer() != nullptr)
      function(*node.input(i)->producer());
  }
  for (const Node* before : node.after()) {
    if (!before->is_erased()) function(*before);
  }
}

}  // namespace sluice
