// Folds one node: its results become constants when all that it reads are constants.
#pragma once

#include "common/base/result.h"
#include "common/ops/infer.h"

namespace sluice {

// Replaces the results of `node` by constants and erases it, where it reads constants alone and
// reads and produces at most kFoldLimitBytes, or where its results' values are known (the Shape of
// fixed dims). A ConstantOfShape of any size becomes a splat. A node that the evaluator rejects
// stays, and reports the error at run time. Returns whether the node was erased.
bool fold_node(Node& node, ValueFacts& facts);

}  // namespace sluice
