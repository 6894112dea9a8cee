// Runs stage programs connected by pipes. The orchestrator copies the bytes from each stage to the
// next, and so can keep a copy, count them, and hold back the end of a stage's input until the
// stage before it is known to have succeeded: no stage ever takes a truncated input for a whole
// one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/process/process.h"

namespace sluice {

using StageClock = std::chrono::steady_clock;

struct StageReport {
  Ending ending;
  double seconds = 0;    // from the end of its input to its own end
  uint64_t bytes = 0;    // written; not known of the last stage
  std::string messages;  // its stderr
  bool found = false;    // in the store: it did not run
  std::string key;       // of its result in the store; empty: the store was not asked
};

struct StageRun {
  std::string name;                  // "optimize"
  std::string program;               // its path
  std::vector<std::string> options;  // "--name=value"
  std::string input;                 // file to read; "-": what the stage before writes
  std::optional<Sandbox> sandbox;    // empty: none
  std::string dump;  // file for a copy of its output; empty: none. Not for the last stage
};

// Is called for each stage that succeeded and for the first that did not, in the order of the pipe;
// never for later ones.
using StageDone = std::function<void(size_t stage, const StageReport&)>;

// Returns the command line: program, options, `more`, input.
std::vector<std::string> command_of(const StageRun& stage, const std::vector<std::string>& more);

// Starts all stages, the last writing to `output`; stages after one that fails are killed. Returns
// whether all succeeded. Errors of the pipe itself: kIo.
Result<bool> run_pipeline(const std::vector<StageRun>& stages, int output, const StageDone& done);

}  // namespace sluice
