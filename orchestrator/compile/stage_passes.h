// The processes that run passes of users for a stage in a sandbox, which may start none itself.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

class StagePasses {
 public:
  StagePasses() = default;
  // Starts those that the options of a stage ask for; errors: where they print. They read what the
  // stage may read, and each has as much memory.
  static Result<StagePasses> start(const StageRun& stage, int errors);
  StagePasses(StagePasses&&) noexcept = default;
  StagePasses& operator=(StagePasses&&) noexcept;
  // Waits for them: they end when the stage has ended.
  ~StagePasses();

  // The option by which the stage finds them; empty when there are none.
  const std::string& option() const { return option_; }
  std::vector<int> descriptors() const;  // that the stage inherits
  // To be called when the stage has them.
  void close_ours() { ends_.clear(); }

 private:
  Result<void> start_host(const StageRun& stage, const std::vector<std::string>& files, int errors,
                          int& to, int& from);
  void end();

  std::string option_;
  std::vector<Descriptor> ends_;
  std::vector<pid_t> hosts_;
};

}  // namespace sluice
