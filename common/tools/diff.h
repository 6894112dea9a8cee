// Structural comparison of two graphs: what is another, by name, the first divergence first.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Graphs, values and nodes are paired by their names in the text; a node is called by its first
// result. Names of nodes, origins and numbering are not compared; ops, operands, attributes, types,
// storages, constants (by digest), control edges and plans are. Linear. Each entry is one line;
// empty when the two are equal.
std::vector<std::string> find_differences(const Module& a, const Module& b);

}  // namespace sluice
