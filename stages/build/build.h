// The last stage turns a lowered graph into one list of tasks over planned memory.
#pragma once

#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/stage/stage_main.h"

namespace sluice {

std::span<const Pass> build_passes();

// Returns the lowered graph at args.input; or a partitioned root of --split with the lowered
// subgraphs at args.more_inputs put into its Calls.
Result<Module> read_lowered(const StageArgs& args);

// Links the subgraphs: afterwards the root contains every node, in the order of execution.
Result<Module> link(Module module, const Options& options, std::vector<PassReport>& report);

// Plans memory, evaluates constants and writes the compiled model to args.output. Returns kLimit
// for impossible sizes, kNotBuildable for inputs and outputs that a compiled model cannot have.
Result<void> write_model(Module& module, const StageArgs& args);

}  // namespace sluice
