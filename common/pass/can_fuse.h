// Says whether nodes could be one node.
#pragma once

#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns true when the nodes could be one node. Otherwise `reason` says why not: no nodes, erased
// ones or several graphs, another stream label, stage level, parallel group or engine, or a path,
// along values or control edges, that leaves them and comes back. The search for a path goes
// backwards from their inputs and stops at the first of the nodes, so the graph's order is restored
// first if it is broken.
bool can_fuse(const std::vector<Node*>& nodes, std::string& reason);

// The same without the search for a path: for nodes of which one alone is read outside, in a graph
// without control edges.
bool have_one_plan(const std::vector<Node*>& nodes, std::string& reason);

}  // namespace sluice
