// A square of vectors turned in registers.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"

namespace sluice {

// Vector i of as many as a vector has lanes becomes what lane i of each was.
void transpose_in_registers(KernelBuilder& builder, IrValues& vectors);

}  // namespace sluice
