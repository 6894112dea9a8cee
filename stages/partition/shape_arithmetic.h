// Shape arithmetic: the nodes that compute from shapes how much memory others need.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns the nodes of shape arithmetic, by node id. It starts at Shape and Size and follows nodes
// all of whose inputs are such, or constants, while every result has at most 8 elements (a 1-d
// result of unknown length counts as small). Graphs whose shapes are all fixed have none: there
// such nodes were folded, or are ordinary work. Random nodes and Fused ones are not included.
// Bodies are not searched.
std::vector<bool> find_shape_arithmetic(const Graph& graph);

}  // namespace sluice
