// The process of a stage, in a sandbox when the run of the stage asks for one (docs/security.md).
#pragma once

#include <optional>

#include "common/base/result.h"
#include "orchestrator/compile/stage_passes.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

// Returns the command line: program, options, `more`, input.
std::vector<std::string> command_of(const StageRun& stage, const std::vector<std::string>& more);

class StageProcess {
 public:
  // Starts it with these options besides its own. Errors: kIo.
  static Result<StageProcess> start(const StageRun& stage, const std::vector<std::string>& more,
                                    Streams streams);

  pid_t child() const { return child_; }
  // The most that may pass from the start of a process to its end.
  static std::optional<double> max_seconds(const StageRun& stage);
  // To be called when the process has ended: kernels that a confined one made get into the store,
  // and a limit that it went beyond gets a name.
  void finish(const StageRun& stage, StageReport& report) const;

 private:
  pid_t child_ = 0;
  Descriptor kernels_;
  StagePasses passes_;
};

// Runs one stage, with these options besides its own, to its end. It reads the file, or its own
// input when the name is empty, and writes to the descriptor unless that is -1.
Result<StageReport> run_over_file(const StageRun& stage, const std::vector<std::string>& more,
                                  const std::string& input_file, int output);
// Does the same, and has the stage write the file `output`.
Result<StageReport> run_to_file(const StageRun& stage, const std::vector<std::string>& more,
                                const std::string& input_file, const std::string& output);

}  // namespace sluice
