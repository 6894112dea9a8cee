// --transport files: the stages one after the other, each reading the file that the one before it
// wrote.
#pragma once

#include "orchestrator/compile/pipeline.h"

namespace sluice {

// Like run_pipeline. Files that no stage has as its dump lie in `folder` until they are read.
Result<bool> run_over_files(const std::vector<StageRun>& stages, int output,
                            const std::string& folder, const StageDone& done);

}  // namespace sluice
