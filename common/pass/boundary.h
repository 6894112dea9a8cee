// A part of a graph, which a match covers and a rewrite replaces.
#pragma once

#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

struct Boundary {
  std::vector<Node*> nodes;     // in list order
  std::vector<Value*> inputs;   // read by the nodes, made outside
  std::vector<Value*> outputs;  // made by the nodes, may be read outside
};

// Returns the reason why the boundary is invalid: no nodes, several graphs, an input made inside,
// an output that is not made inside or named twice, or a value inside that is read outside without
// being an output. Empty when it is valid.
std::string boundary_obstacle(const Boundary& boundary);

// Returns true when the nodes could be one node. Otherwise `reason` says why not: no nodes, erased
// ones or several graphs, another stream label, stage level, parallel group or engine, or a path,
// along values or control edges, that leaves them and comes back. The search for a path goes
// backwards from their inputs and stops at the first of the nodes, so the graph's order is restored
// first if it is broken.
bool can_fuse(const std::vector<Node*>& nodes, std::string& reason);

}  // namespace sluice
