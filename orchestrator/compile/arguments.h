// From the command line of sluice-compile to what it asks for.
#pragma once

#include "common/base/command_line.h"
#include "orchestrator/compile/compile.h"

namespace sluice {

Result<CompileRequest> request_from(const CommandLine& line);

}  // namespace sluice
