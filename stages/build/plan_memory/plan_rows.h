// sluice-plan-memory: the planners of plan_offsets.h for a file of buffers.
#pragma once

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

// Reads the buffers of <in>, plans, and writes them to -o. Errors: kBadFile, kBadOption, and
// kNoPlan when no plan for --capacity is found, which names what is live where most bytes are.
Result<ExitClass> plan_rows(const CommandLine& line);

}  // namespace sluice
