// The nodes that the vector engine supports: those that can be lowered to a loop graph
// (common/loop), alone or as the body of a Fused node.
#pragma once

#include <string>

#include "common/ir/graph.h"

namespace sluice {

// Returns an empty text when vector can lower the node, otherwise the reason.
std::string vector_unsupported_reason(const Node& node);

}  // namespace sluice
