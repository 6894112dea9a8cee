// The nodes that the vector engine supports: those that can be lowered to a loop graph
// (common/loop), alone or as the body of a Fused node.
#pragma once

#include <string>

#include "common/ir/graph.h"

namespace sluice {

// Returns an empty text when vector can lower the node, otherwise the reason.
std::string vector_unsupported_reason(const Node& node);
// Says whether the node's result is its input's bytes, so that it needs no kernel.
bool is_vector_view(const Node& node);

}  // namespace sluice
