// Runs stage programs connected by pipes. The orchestrator copies the bytes from each stage to the
// next, and so can keep a copy, count them, and hold back the end of a stage's input until the
// stage before it is known to have succeeded: no stage ever takes a truncated input for a whole
// one.
#pragma once

#include "common/base/result.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

// Starts all stages, the last writing to `output`; stages after one that fails are killed. Returns
// whether all succeeded. Errors of the pipe itself: kIo.
Result<bool> run_pipeline(const std::vector<StageRun>& stages, int output, const StageDone& done);

}  // namespace sluice
