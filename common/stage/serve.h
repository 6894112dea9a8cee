// --serve ENDPOINT: the stage as a service (docs/transports.md). Each job runs like the program, in
// a separate process.
#pragma once

#include "common/stage/arguments.h"

namespace sluice {

// Returns the exit code. Announces its endpoint on stderr; ends with 0 at SIGTERM.
int serve_stage(const Stage& stage, const ParsedArguments& parsed);

}  // namespace sluice
