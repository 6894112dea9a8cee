// The work of a node that counts: multiply-adds of contractions.
#pragma once

#include <cstdint>

#include "common/ir/graph.h"

namespace sluice {

// Per run: of Conv, ConvTranspose, MatMul and Gemm, alone or as an anchor; 0 for the rest, and
// while a dim is not fixed.
uint64_t count_multiply_adds(const Node& node);
// The same with nominal sizes (common/symbolic/nominal.h) for symbolic ones.
uint64_t nominal_multiply_adds(const Node& node);

}  // namespace sluice
