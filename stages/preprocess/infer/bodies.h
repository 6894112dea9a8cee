// Carries what is known outside a body, such as constants, into it.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Turns captured values that are constants into constants of the bodies, and drops captures that no
// body reads. Returns whether something changed.
bool tidy_captures(Node& node);

// Replaces an If with a constant condition by the body that it takes, and erases the If, unless its
// placement keeps it. Returns the node to continue with: the first of the body, or the one after
// the If; sets `inlined` to whether it happened.
Node* inline_decided_if(Node& node, bool& inlined);

// Erases nodes whose results nothing uses, last first, in bodies too. Linear.
bool erase_dead_nodes(Graph& graph);

}  // namespace sluice
