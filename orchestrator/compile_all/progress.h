// What sluice-compile-all reports about its compiles: a line for each that ended and, on a
// terminal, a table below them of those that run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/digest.h"
#include "common/base/json.h"
#include "common/base/parallel.h"
#include "orchestrator/compile/compile.h"

namespace sluice {

inline constexpr std::string_view kCompileAll = "sluice-compile-all";

enum class Status : uint8_t { kOpen, kFound, kMade, kFailed };
std::string_view status_name(Status status);  // "open", "found", "made", "failed"

// One compile of the manifest.
struct Outcome {
  CompileRequest request;
  Status status = Status::kOpen;
  Digest key = {};        // of its job; zero when the import failed
  uint64_t bytes = 0;     // of its model
  int code = 0;           // exit code of what failed
  std::string text = {};  // warnings of the import, or the error of what failed
};

// Returns {"model","output","status"}, with "key" and "bytes" of a compile that ended well, and
// with "code" and "error" of one that failed.
Json outcome_json(const Outcome& outcome);

// Threads may report at the same time.
class Progress {
 public:
  Progress(bool quiet, size_t count);
  ~Progress();
  // What runs, under its name: an import or a job.
  void begin(const std::string& name);
  void end(const std::string& name);
  void report(const Outcome& outcome);
  void warn(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void draw_often();
  std::string table() const;
  std::string erased() const;  // what takes the table off the terminal
  void redraw(const std::string& lines);

  const bool quiet_;
  const bool has_table_;
  const size_t count_;
  size_t ended_ = 0, failed_ = 0, found_ = 0;
  size_t drawn_ = 0;  // lines of the table that is there
  std::map<std::string, Clock::time_point> running_;
  bool is_over_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
  Threads threads_;  // must be destroyed first
};

}  // namespace sluice
