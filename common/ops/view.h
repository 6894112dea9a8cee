// Nodes that move nothing.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Returns whether the node's result is its input's bytes under another shape, so that no engine
// needs a task for it: an op of that kind whose values are dense.
bool is_view(const Node& node);

}  // namespace sluice
