// Reports that a program which was run by another one failed.
#pragma once

#include <string>

#include "orchestrator/compile/stage_run.h"

namespace sluice {

// Returns the exit code for a program that failed. A program that ended with a code of the table
// has printed the reason; for the others the error is printed here, in the name of `own`.
int report_failure(std::string_view own, const std::string& program, const StageReport& report,
                   bool error_json);

}  // namespace sluice
