// The walk over a root graph, as the build sees it: whether a model has one, and which nodes launch
// a kernel during it. Every node that launches none is a task of the reference evaluator.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns whether the model of this root is walked. If not, it is one fixed part: partition found
// every size fixed and called no part, and nothing is kept from one execution to the next.
bool is_walked(const Graph& root);

// Returns, by node id, which nodes of a linked root launch their kernels while it is walked. Such a
// node names a kernel, and the sizes of its results follow from dims of values before it; no value
// of it is rows of a wider one, since each has memory of its own, as large as it is dense. A value
// whose storage is not dense is written and read by kernels alone, so a node without a launch takes
// the launches of its neighbours away too.
std::vector<bool> find_launches(const Graph& root);

}  // namespace sluice
