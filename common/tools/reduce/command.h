// The command whose failure must be preserved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// The end of a run, and its output on both streams (the first MiB).
struct Ending {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  std::string output;
};

std::string ending_text(const Ending& ending);  // "exit code 3, SL2002", "signal 11", "no end"

// Runs arguments[0], searched in PATH, in a separate process group, which is killed when the time
// is over or we are interrupted. Errors: kIo, also when interrupted.
Result<Ending> run_command(const std::vector<std::string>& arguments, double seconds);
// After this call, SIGINT and SIGTERM end the run of a command instead of this program.
void catch_interrupts();
bool interrupted();

// The definition of the failure: the same exit code (or signal, or timeout) and the same SL number
// as those of the whole model, unless these members are set.
struct Wanted {
  std::optional<int> exit_code;
  std::string text;  // must be in the output; empty: no requirement
};

class Command {
 public:
  // In `words` every % is replaced by the path of the model.
  Command(std::vector<std::string> words, Wanted wanted, double seconds)
      : words_(std::move(words)), wanted_(std::move(wanted)), seconds_(seconds) {}
  // Runs on the whole model and records how that failed. Errors: kBadOption when it does not fail.
  Result<void> learn(const std::string& path);
  // Returns true when it fails on this model in the same way.
  Result<bool> fails(const std::string& path);
  const Ending& whole() const { return whole_; }
  size_t runs() const { return runs_; }

 private:
  Result<Ending> run(const std::string& path);
  bool is_wanted(const Ending& ending) const;
  std::vector<std::string> words_;
  Wanted wanted_;
  double seconds_;
  Ending whole_;
  size_t runs_ = 0;
};

}  // namespace sluice
