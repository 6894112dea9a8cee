// Runs stage programs connected by pipes. We copy the bytes from each stage to the next, and so can keep a copy, count them, and hold back
// the end of a stage's input until the stage before it is known to have succeeded: no stage ever takes a broken-off input for a whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/process/process.h"

namespace sluice {

struct StageRun {
  std::string name;                    // "optimize"
  std::vector<std::string> arguments;  // the program's path first
  std::string dump;                    // file for a copy of its output; empty: none. Not for the last stage
};

struct StageReport {
  Ending ending;
  double seconds = 0;    // from its whole input there to its end
  uint64_t bytes = 0;    // written; not known of the last stage
  std::string messages;  // its stderr
};

// Starts all stages, the last writing to `output`. `done` is called for each stage that succeeded and for the first that did not, in the
// order of the pipe; never for later ones, which are killed. Answers whether all succeeded. Errors are our own: kIo.
Result<bool> run_pipeline(const std::vector<StageRun>& stages, int output,
                          const std::function<void(size_t stage, const StageReport&)>& done);

}  // namespace sluice
