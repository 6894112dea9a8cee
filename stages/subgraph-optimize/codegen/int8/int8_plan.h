// Facts that the plan of a convolution of bytes and its emitter share. No LLVM is needed.
#pragma once

#include "stages/subgraph-optimize/codegen/int8/int8.h"

namespace sluice {

// Returns whether products of bytes can read x as it is in memory.
bool has_rows_in_place(const Int8ConvSpec& spec);

// Returns the number of products of a sum.
int64_t int8_reduction(const ConvSpec& spec);

}  // namespace sluice
