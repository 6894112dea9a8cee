// The command lines of sluice-farm and sluice-worker.
#pragma once

#include "common/base/command_line.h"

namespace sluice {

Result<int> run_farm_command(const CommandLine& line);
Result<int> run_worker_command(const CommandLine& line);

}  // namespace sluice
