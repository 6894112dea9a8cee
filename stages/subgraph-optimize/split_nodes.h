// The frame of passes that put several nodes in the place of one.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Adds the nodes that stand for a node before it, lets the readers of its results read theirs, and
// returns them in order. Returns none where the node stays as it is.
using SplitNode = std::vector<Node*> (*)(Node& node);

// Splits the nodes of all subgraphs of the engine. The new nodes get the control edges of the old
// one, which is erased, and types. Returns whether there were any.
Result<bool> split_nodes(Graph& root, std::string_view engine, SplitNode split);

}  // namespace sluice
