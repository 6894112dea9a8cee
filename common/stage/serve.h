// --serve ENDPOINT: the stage as a service (docs/transports.md), which sluice-worker is: it listens
// there, and starts the stage's program for each job.
#pragma once

#include "common/stage/arguments.h"

namespace sluice {

// Becomes sluice-worker, which must be beside this program. Returns the exit code when that is not
// possible, or the command line asks for something that jobs bring themselves.
int serve_stage(const Stage& stage, const ParsedArguments& parsed);

}  // namespace sluice
