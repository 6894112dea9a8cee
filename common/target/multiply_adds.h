// The measure of a node's work: multiply-adds of contractions.
#pragma once

#include <cstdint>

#include "common/ir/graph.h"

namespace sluice {

// Returns the multiply-adds per run of Conv, ConvTranspose, MatMul, Gemm, Attention and recurrent
// cells, alone or as an anchor; 0 for other nodes, and while a dim is not fixed.
uint64_t count_multiply_adds(const Node& node);
// Returns the same with nominal sizes (common/symbolic/nominal.h) for symbolic ones.
uint64_t nominal_multiply_adds(const Node& node);

}  // namespace sluice
