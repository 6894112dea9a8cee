// Transposes a square of vectors in registers.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// Makes vector i out of lane i of each vector; the number of vectors is the number of their lanes.
void transpose_in_registers(KernelBuilder& builder, IrValues& vectors);

}  // namespace sluice
