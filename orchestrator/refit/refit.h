// Makes a compiled model for other values of a model's constants, with the kernels of an earlier
// one: runs the stages again, generates no code, and compares what comes out.
#pragma once

#include <string>

#include "common/base/result.h"
#include "orchestrator/compile/stage_options.h"

namespace sluice {

struct RefitRequest {
  std::string base;      // the earlier compiled model
  std::string weights;   // the ONNX model with the new constants
  std::string output;    // "-": standard output
  StageOptions options;  // what the import reads besides, and non-semantic ones
  bool quiet = false;
  bool error_json = false;  // errors of the program itself as JSON
};

// Returns the exit code: 0, or that of the first stage that failed, whose error has then been
// printed. Errors of the program itself: those of reading the base, kBadOption for rules that are
// not those of the base, kOtherStructure, which names the first difference, kNotFound, kBadFile,
// kProgramMissing, kIo.
Result<int> refit(const RefitRequest& request);

}  // namespace sluice
