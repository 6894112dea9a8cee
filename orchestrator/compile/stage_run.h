// One run of a stage's program, and what is known after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

// What a store is for, of a stage's product. Its key is that of the work (plan/stage_job.h).
enum class StoreUse : uint8_t {
  kNone,     // it is not looked up, and not kept
  kCompare,  // the stage runs; what the store has must be the same graph
  kKeep,     // the stage runs, and its product is kept; what the store has must be the same
  kTake,     // the stage runs, and its product is kept, unless the store has it
};

struct StageRun {
  std::string name;                  // "optimize"
  std::string program;               // its path
  std::vector<std::string> options;  // "--name=value"
  // The semantic ones that it reads first, given here or carried by its input: its product depends
  // on these, its input and the profile.
  std::vector<std::string> semantic = {};
  std::string input;                    // file to read; "-": what the stage before writes
  std::optional<Sandbox> sandbox = {};  // empty: none
  // File for a copy of its output; empty: none. Not for the last stage.
  std::string dump = {};
  StoreUse store_use = StoreUse::kNone;
};

// Is called for each stage that succeeded and for the first that did not, in the order of the pipe;
// never for later ones.
using StageDone = std::function<void(size_t stage, const StageReport&)>;

// Returns the command line: program, options, `more`, input.
std::vector<std::string> command_of(const StageRun& stage, const std::vector<std::string>& more);

}  // namespace sluice
