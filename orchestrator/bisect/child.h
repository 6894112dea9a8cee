// Runs a program of Sluice to its end, and takes the error that it reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct ChildResult {
  int code = 0;                // exit code; that of the error for a program that crashed
  std::optional<Error> error;  // what it reported, or that it crashed
  std::string output;          // what it wrote to standard output
};

// kText: for requests such as --list-passes, which take no other options.
enum class ErrorsAs : uint8_t { kJson, kText };

// Runs `sluice-name`. Errors: kProgramMissing, and kIo, also when this process is interrupted.
Result<ChildResult> run_child(const std::string& name, std::vector<std::string> arguments,
                              ErrorsAs errors = ErrorsAs::kJson);

// Returns whether an error is about the work itself. The others are about the command line or what
// the machine can do, and say nothing of a pass.
bool is_about_work(const Error& error);

}  // namespace sluice
