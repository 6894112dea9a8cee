// Finds groups of nodes that one loop kernel computes together (common/loop/lowering.h).
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns groups of at least two nodes, each in list order. Every reader of a member is a member or
// comes after the group's last node. The groups share no node.
//
// - A group has at most 64 nodes, reads at most 8 values, scalar constants not counted, and at most
//   8 of its nodes have visible results.
// - Members are those of element_roles.h: elementwise nodes that loops can compute, what moves
//   elements between them (views that only split dims, permutations that leave the last axis in its
//   place, Slice, Split, Pad), expansions, and at most one node with loops of its own.
// - Values that stay visible (those that other nodes read, outputs of the graph, results of nodes
//   that are kept) have one shape and are computed element by element at the same index; with such
//   a node in the group all of them depend on its result, but for the rows that a softmax or
//   normalisation reads, which it can store.
// - A member whose elements are computed more than once, because a broadcast or several loops read
//   them, is cheap, and there are at most 8 of these. Loops that keep a row in scratch compute its
//   elements once.
// - All members have the same placement, but for `keep`, and no control edges.
// - A Concat that may append to a state stays alone, as does one of values that are stored anyway:
//   sluice-build lets them lie in its result, which costs less than any kernel.
// - Shapes of at most 8 elements are left alone, and vectors of integers of unknown length: such
//   nodes compute sizes, which the host does.
std::vector<std::vector<Node*>> find_element_groups(const Graph& graph);

}  // namespace sluice
