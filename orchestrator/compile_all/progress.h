// What sluice-compile-all tells about its compiles: a line for each that ended and, on a terminal,
// a last line with how many are left.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/digest.h"
#include "common/base/json.h"
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

// Threads may tell at the same time.
class Progress {
 public:
  Progress(bool quiet, size_t count);
  void tell(const Outcome& outcome);
  void finish();  // clears the last line

 private:
  void tell_remainder();
  const bool quiet_, on_terminal_;
  const size_t count_;
  size_t ended_ = 0, failed_ = 0, found_ = 0;
  std::mutex mutex_;
};

}  // namespace sluice
