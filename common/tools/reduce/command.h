// The command whose failure is to be kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// How a run ended, and what it printed on both streams (the first MiB).
struct Ending {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  std::string output;
};

std::string ending_text(const Ending& ending);  // "exit code 3, SL2002", "signal 11", "no end"

// Runs arguments[0], looked for in PATH, in a process group of its own, which is killed when the
// time is over or we are interrupted. Errors: kIo, also when interrupted.
Result<Ending> run_command(const std::vector<std::string>& arguments, double seconds);
// From now on SIGINT and SIGTERM end the run of a command instead of us.
void catch_interrupts();
bool interrupted();

// What a failure is: the same exit code (or signal, or no end) and the same SL number as the whole
// model's, unless these say more.
struct Wanted {
  std::optional<int> exit_code;
  std::string text;  // must be in the output; empty: nothing must
};

class Command {
 public:
  // In `words` every % is the path of the model.
  Command(std::vector<std::string> words, Wanted wanted, double seconds)
      : words_(std::move(words)), wanted_(std::move(wanted)), seconds_(seconds) {}
  // Runs on the whole model and remembers how that failed. Errors: kBadOption when there is no
  // failure to keep.
  Result<void> learn(const std::string& path);
  // Whether it fails on this model, too, in the same way.
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
