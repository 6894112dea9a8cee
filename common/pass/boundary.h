// A piece of a graph: what a match covers and a rewrite replaces.
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

// Why the boundary is not one: no nodes, several graphs, an input made inside, an output that is
// not made inside or named twice, or a value inside that is read outside without being an output.
// Empty when it is good.
std::string boundary_obstacle(const Boundary& boundary);

// Whether the nodes could be one node; if not, `reason` says why: none, erased ones or several
// graphs, another stream label, stage level, parallel group or engine, or a path, along values or
// control edges, that leaves them and comes back. The search for one goes backwards from what they
// read and no further than the first of them, so the graph's order is mended first if it is broken.
bool can_fuse(const std::vector<Node*>& nodes, std::string& reason);

}  // namespace sluice
