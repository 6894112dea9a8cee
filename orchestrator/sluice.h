// The program `sluice`: finds the program of a verb and replaces itself by it, as git does.
#pragma once

#include "common/base/result.h"

namespace sluice {

// Runs the program of a verb. Returns only when there was something to print (exit code 0) or on an
// error: kUsage, kProgramMissing, kIo.
Result<int> run_sluice(int argc, char** argv);

}  // namespace sluice
