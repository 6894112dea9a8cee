// Structural comparison of two graphs: the differences by name, the first divergence first.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Pairs graphs, values and nodes by their names in the text; a node has the name of its first
// result. Names of nodes, origins and numbering are not compared; ops, operands, attributes, types,
// storages, constants (by digest), control edges and placements are. Linear. Each entry is one
// line; empty when the two are equal. ignores_constants: neither the values of constants are
// compared, nor which operands are the same constant; their types are.
std::vector<std::string> find_differences(const Module& a, const Module& b, bool ignores_constants);

}  // namespace sluice
