// Evaluates nodes over constants that read and produce at most kFoldLimitBytes.
//
//   before:  %1 = Add(2, 3)   %y = Mul(%x, %1)
//   after:   %y = Mul(%x, 5)
//
// Legal because the reference evaluator defines the ops; never for random ops, control flow, or
// nodes that the placement keeps or excludes. Larger constants are opaque: their
// nodes stay, or another pass writes a constant expression. A node that the evaluator rejects stays
// and reports the error when it runs. Outputs of the model stay nodes.
#include "common/pass/fold_over_constants.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {

Result<bool> fold_constants(Graph& root, const Options&) {
  return on_every_node(root, fold_over_constants);
}

}  // namespace sluice
