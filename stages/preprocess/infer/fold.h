// Folding of one node: its results become constants when everything it reads is one.
#pragma once

#include "common/base/result.h"
#include "common/ops/infer.h"

namespace sluice {

// Replaces the results of `node` by constants and erases it, where it reads constants alone and
// reads and makes at most kFoldLimitBytes, or where its results' values are known (the Shape of
// fixed dims). A ConstantOfShape of any size becomes a splat. What the evaluator refuses stays for
// the run to report. Answers whether the node is gone.
bool fold_node(Node& node, ValueFacts& facts);

}  // namespace sluice
