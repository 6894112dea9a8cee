// Constants and bodies: what is known outside a body is used inside it.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Captured values that are constants become constants of the bodies; captures that no body reads
// are dropped.
bool tidy_captures(Node& node);

// Puts the body that an If with a constant condition takes in its place, and erases the If, unless
// its plan keeps it. Answers the first node to look at in its stead: the first of the body, or the
// one behind the If; `inlined` tells whether it happened.
Node* inline_decided_if(Node& node, bool& inlined);

// Erases nodes whose results nobody uses, last first, in bodies too. Linear.
bool erase_dead_nodes(Graph& graph);

}  // namespace sluice
