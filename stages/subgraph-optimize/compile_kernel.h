// --kernel: one kernel alone, from its specification.
#pragma once

#include "common/stage/stage_main.h"

namespace sluice {

// Compiles the specification that --kernel names (common/target/kernel_specification.h) and writes
// the ELF object to -o; entry, blocks and scratch go to stderr. Returns false without --kernel.
// Errors: those of the specification; kUsage beside a graph.
Result<bool> compile_kernel(const StageArgs& args);

}  // namespace sluice
