// How a program that ran others tells that one of them failed.
#pragma once

#include <string>

#include "orchestrator/compile/pipeline.h"

namespace sluice {

// Our exit code for a program that did not end well. One that ended with a code of the table has
// said why; for the others the error is printed here, in the name of `own`.
int tell_failure(std::string_view own, const std::string& program, const StageReport& report,
                 bool error_json);

}  // namespace sluice
