// --serve ENDPOINT: the stage as a service (docs/transports.md). Each job runs like the program
// itself, in a process of its own.
#pragma once

#include "common/stage/arguments.h"

namespace sluice {

// The exit code. Announces on stderr where it listens; ends with 0 at SIGTERM.
int serve_stage(const Stage& stage, const ParsedArguments& parsed);

}  // namespace sluice
