// Runs one test case through the real programs.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/conformance/case.h"

namespace sluice {

struct Toolbox {
  std::string compile;  // paths of the programs
  std::string verify;
  std::string loader;
  std::string profile;    // empty: the compiler's default
  std::string opt_level;  // the same
  int threads = 1;        // of each process
  double timeout = 120;   // seconds, of each process
};

// Works in `folder`, which must exist and be empty, and leaves its files there.
CaseResult run_case(const Case& test, const Toolbox& tools, const std::string& folder);

}  // namespace sluice
