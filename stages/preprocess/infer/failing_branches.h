// Branches of an If in which inference fails: they are wrong only when they are taken.
#pragma once

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Puts a branch that fails with `error` in the place of `branch`, which `node` owns, and warns of
// it. The error itself where it tells of something else than sizes, or where a node of the branch
// could not be right with any sizes.
Result<void> fail_when_taken(Node& node, Graph& branch, Error error);

}  // namespace sluice
