// Runs all cases below a folder, several at once, and writes the report.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

struct ConformanceRequest {
  std::string folder;
  int jobs = 0;        // 0: one per usable core
  std::string report;  // JSON file; empty: none
  double timeout = 120;
  std::string profile;
  std::string opt_level;  // empty: the compiler's default
  bool quiet = false;
};

// Prints a line for each case, in the order of their names, and the summary. Returns the exit code:
// 0 when all passed, otherwise 7. Errors: kNotFound, kNoCases, kProgramMissing, kIo.
Result<int> run_conformance(const ConformanceRequest& request);

}  // namespace sluice
