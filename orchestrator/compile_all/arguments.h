// The command line of sluice-compile-all.
#pragma once

#include "common/base/command_line.h"
#include "orchestrator/compile_all/compile_all.h"

namespace sluice {

// Errors: kBadOption.
Result<CompileAllRequest> compile_all_request(const CommandLine& line);

}  // namespace sluice
