// One run of a stage: reading, level check, the stage's work, verification, writing, statistics. It
// is the work of a command line.
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
  // The module that was written. A process that ends now need not destroy it.
  std::optional<Module> module;
  bool output_written = false;  // the output is complete; any failure came later
};

// Returns how the options ask for graphs to be written.
WriteGraphOptions write_graph_options(const Options& options);

// Reads a graph file ("-": standard input), checks its level, and verifies it.
Result<Module> read_stage_graph(Level accepts, const std::string& path);
// Checks that the output is not a terminal.
Result<void> check_binary_output(const StageArgs& args);

// Runs the stage and sets args.report.
Result<void> run_stage(const Stage& stage, StageArgs& args, StageRun& run);

}  // namespace sluice
