// --transport files: runs the stages one after the other; each reads the file that the one before
// it wrote.
#pragma once

#include "orchestrator/compile/pipeline.h"

namespace sluice {

// Works like run_pipeline. Files that are no stage's dump stay in `folder` until they are read.
Result<bool> run_over_files(const std::vector<StageRun>& stages, int output,
                            const std::string& folder, const StageDone& done);

// Runs one stage, with these options besides its own. It reads the file, or its own input when the
// name is empty, and writes to the descriptor unless that is -1.
Result<StageReport> run_over_file(const StageRun& stage, const std::vector<std::string>& more,
                                  const std::string& input_file, int output);
// Does the same, and has the stage write the file `output`.
Result<StageReport> run_to_file(const StageRun& stage, const std::vector<std::string>& more,
                                const std::string& input_file, const std::string& output);

}  // namespace sluice
