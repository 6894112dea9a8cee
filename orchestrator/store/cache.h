// The commands of sluice-cache.
#pragma once

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

// Does what the command line of usage.h asks for. Returns the exit code. Errors: kBadOption, and
// those of the commands; kDifferent, when `verify` has found something.
Result<int> run_cache_command(const CommandLine& line);

}  // namespace sluice
