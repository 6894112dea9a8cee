// Handles branches of an If in which inference fails: they are wrong only when they are taken.
#pragma once

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Replaces `branch`, which `node` owns, by a branch that fails with `error`, and warns of it.
// Returns the error itself where it is about something other than sizes, or where a node of the
// branch could not be right with any sizes.
Result<void> fail_when_taken(Node& node, Graph& branch, Error error);

}  // namespace sluice
