// Runs the stages that decide the properties of a compile, and shows their decisions.
#pragma once

#include <string>

#include "common/base/result.h"
#include "orchestrator/compile/stage_options.h"

namespace sluice {

struct CheckRequest {
  std::string input;     // an ONNX model
  StageOptions options;  // without --quiet and --error-format
  std::string format;    // of the report: text or json
  bool quiet = false;
  bool error_json = false;
};

// Writes the report to standard output, with the command that compiles the model with the sizes
// proposed, if any, and the programs' messages to standard error. Returns the exit code: that of
// the first program that failed. Errors of sluice-check itself: kIo, kProgramMissing.
Result<int> check(const CheckRequest& request);

}  // namespace sluice
