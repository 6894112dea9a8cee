// The inputs of a node whose kernel was made from its loops.
#pragma once

#include "common/loop/lowering.h"

namespace sluice {

// Returns a node whose inputs are the operands of the launch, in their order: the node itself if
// they are so, else a Fused node before it that takes over its results, name, origins and
// placement; the caller then erases the node. A launch has no constants that became part of the
// kernel, and reads other constants after all inputs. At least one input stays.
Node& give_launch_operands(Node& node, loop::LoweredNode& lowered);

}  // namespace sluice
