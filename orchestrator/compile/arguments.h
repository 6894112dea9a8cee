// Turns the command line of sluice-compile into a request.
#pragma once

#include "common/base/command_line.h"
#include "orchestrator/compile/compile.h"

namespace sluice {

Result<CompileRequest> request_from(const CommandLine& line);

}  // namespace sluice
