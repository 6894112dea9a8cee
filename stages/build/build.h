// The last stage schedules a lowered graph: which stream runs a task, what it waits for and where
// every byte lies; and writes that as one file.
#pragma once

#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/stage/stage_main.h"

namespace sluice {

std::span<const Pass> build_passes();

// Returns the lowered or scheduled graph at args.input; or a partitioned root of --split with the
// lowered subgraphs at args.more_inputs put into its Calls.
Result<Module> read_lowered(const StageArgs& args);

// Returns the graph of level scheduled (docs/schedule.md): the root contains every node, in the
// order of tasks. One that is scheduled already is returned as it is.
Result<Module> schedule(Module module, const Options& options, std::vector<PassReport>& report);

// Evaluates constants and writes the compiled model to args.output, as the schedule says; with
// --stop-after the graph. Returns kLimit for impossible sizes, kNotBuildable for inputs and outputs
// that a compiled model cannot have.
Result<void> write_model(Module& module, const StageArgs& args);

}  // namespace sluice
