// The walk over a root graph, as the build sees it: whether a model has one, and which nodes launch
// a kernel on the way. Whatever launches none is a task of the reference evaluator.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Whether the model of this root is walked. Else it is one fixed part: partition found every size
// fixed and called no part, and nothing is kept from one execution to the next.
bool is_walked(const Graph& root);

// By node id: nodes of a linked root that launch their kernels while it is walked. Such a node
// names a kernel, and the sizes of its results follow from dims of values before it. A value that
// is stored otherwise than dense is made and read by kernels alone, so that a node without a launch
// takes those around it along.
std::vector<bool> find_launches(const Graph& root);

}  // namespace sluice
