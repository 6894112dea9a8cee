// Programs of others whose output is an answer, such as those of Slurm.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct ToolAnswer {
  int code = 0;
  std::string out, errors;
};

// Runs a program of PATH to its end, also while this program is being interrupted: what sbatch has
// submitted is then known, and scancel cancels it. Errors: kProgramMissing, kIo.
Result<ToolAnswer> run_tool(const std::vector<std::string>& arguments);

// Returns the error of a program of Slurm that failed.
Error slurm_error(const std::string& tool, const ToolAnswer& answer);

}  // namespace sluice
