// The process of a stage, in a sandbox when the run of the stage asks for one (docs/security.md).
#pragma once

#include <optional>

#include "orchestrator/compile/pipeline.h"

namespace sluice {

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
};

// Opens a file that a stage, which may open none, writes as its standard output.
Result<Descriptor> open_for_stage(const std::string& file);

}  // namespace sluice
