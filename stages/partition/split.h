// Writes for --split one file for the root and one for each distinct subgraph.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/stage/stage_main.h"

namespace sluice {

// Writes the graph to -o; with --split instead DIR/root.sg, whose Calls have no bodies but the
// attribute `subgraph` (the structure digest of the file, as hex), and DIR/<first 16 digits>.sg for
// each distinct subgraph.
Result<void> write_partitioned(Module& module, const StageArgs& args);

// Splits a graph that is partitioned already, which --split is given as a file. Returns false for
// any other input.
Result<bool> split_partitioned(const StageArgs& args);

}  // namespace sluice
