// Patterns of activations that exporters write as several nodes reading the same value.
#pragma once

#include <vector>

#include "common/pass/pattern.h"

namespace sluice {

// Returns the patterns. Each has one input "x" and one output, all its other operands are
// constants, and x is read more than once: x * Sigmoid(x), x * (1 + Erf(x / sqrt(2))), x * Clip(x +
// 3, 0, 6), … A factor before or after (0.5, 1 / 6) is a node of its own that a chain takes as a
// single node. Constants match any value: the nodes stay the same inside a Fused body, so their
// meaning does not depend on recognising it.
std::vector<Pattern> epilogue_patterns();

}  // namespace sluice
