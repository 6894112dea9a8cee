// When the values of nodes without a task are complete.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Says of each node without a task after which task its results are complete: the last one, in the
// order of tasks, of those that make the bytes which it shows. Inputs and constants are complete
// from the beginning.
void complete_views(Graph& graph);

}  // namespace sluice
