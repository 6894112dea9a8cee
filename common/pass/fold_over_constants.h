// Evaluates nodes over small constants.
#pragma once

#include "common/pass/editor.h"

namespace sluice {

// Makes constants of the results of a node over constants whose bytes are known and that, together
// with the results, have at most kFoldLimitBytes. Returns false, without a change, for all other
// nodes: random ops, control flow, nodes with bodies, those that the placement keeps or excludes,
// those whose results are outputs of a model or part, and those that the evaluator rejects, which
// report the error when they run.
bool fold_over_constants(Editor& editor, Node& node);

}  // namespace sluice
