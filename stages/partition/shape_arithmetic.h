// Shape arithmetic: the nodes that compute from shapes how much memory others take.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// By node id. Starts at Shape and Size and follows nodes all of whose inputs are such, or
// constants, while every result has at most 8 elements (a 1-d result of unknown length counts as
// small). None in graphs whose shapes are all fixed: there such nodes were folded, or are ordinary
// work. Random nodes and Fused ones are none. Bodies are not looked into.
std::vector<bool> find_shape_arithmetic(const Graph& graph);

}  // namespace sluice
