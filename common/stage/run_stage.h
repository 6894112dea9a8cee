// One run of a stage: reading, level check, the stage's work, verification, writing, statistics.
// What the process's arguments and a job of
// --serve have in common.
#pragma once

#include <optional>
#include <vector>

#include "common/stage/stage_main.h"
#include "common/stage/stats.h"

namespace sluice {

struct WriteGraphOptions;  // common/graphfile/graphfile.h

struct StageRun {
  std::vector<PassReport> passes;
  StageTimes times;
  std::optional<Module> module;  // what was written; a process that ends now need not take it apart
  bool output_written = false;   // the output is whole; what failed came later
};

// How the options ask for graphs to be written.
WriteGraphOptions write_graph_options(const Options& options);

// args.report is set by this function.
Result<void> run_stage(const Stage& stage, StageArgs& args, StageRun& run);

}  // namespace sluice
