// Merges nodes that compute the same, and constants that are the same.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Merges each node with an earlier one of the graph that has the same op, inputs, attributes, types
// and storages of results, and placement; bodies are compared by what they compute. Only nodes that
// `is_mergeable` accepts are merged: it rejects those with an effect, those that may compute
// something else each time, and those that run after others. The remaining node takes the origins
// and control edges of the erased one. An output of a model or part merges only into a value that
// can take its name, and no two become one. Nodes are found through a hash, in order, so chains of
// equal nodes merge at once. Returns whether anything changed.
bool merge_equal_nodes_of(Graph& graph, bool (*is_mergeable)(const Node& node));

}  // namespace sluice
