// Finds groups of nodes that one loop kernel computes together (common/loop/lowering.h).
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns groups of at least two nodes, each in list order; its last node is read by no other
// member, and every reader of the others is a member. The groups share no node.
//
// - A group has at most 64 nodes and reads at most 8 values, scalar constants not counted.
// - Members are elementwise nodes that loops can compute, reshapes between them that only split
//   dims, permutations that leave the last axis in its place, expansions, and at most one node with
//   loops of its own.
// - Values that stay visible (those of the last node, outputs of the graph, results of nodes that
//   are kept) have one shape and are computed element by element at the same index; with such a
//   node in the group all of them depend on its result.
// - A member whose elements are computed more than once, because a broadcast or several loops read
//   them, is cheap, and there are at most 8 of these.
// - All members have the same placement, but for `keep`, and no control edges.
// - Shapes of at most 8 elements are left alone, and vectors of integers of unknown length: such
//   nodes compute sizes, which the host does.
std::vector<std::vector<Node*>> find_element_groups(const Graph& graph);

// Returns whether the input is a constant that says what the node does (axes, a target shape)
// rather than data.
bool is_parameter(const Node& node, size_t input);

}  // namespace sluice
