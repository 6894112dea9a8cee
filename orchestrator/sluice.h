// The program `sluice`: finds the program of a verb and becomes it, as git does.
#pragma once

#include "common/base/result.h"

namespace sluice {

// Returns only when there was something to print (exit code 0) or on an error: kUsage,
// kProgramMissing, kIo.
Result<int> run_sluice(int argc, char** argv);

}  // namespace sluice
