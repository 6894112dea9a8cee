// Activations that exporters spell as several nodes reading the same value, as patterns.
#pragma once

#include <vector>

#include "common/pass/pattern.h"

namespace sluice {

// Each has one input "x" and one output, all its other operands are constants, and x is read more
// than once: x * Sigmoid(x), x * (1 + Erf(x / sqrt(2))), x * Clip(x + 3, 0, 6), … A factor in front
// or behind (0.5, 1 / 6) is a node of its own that a step for single nodes takes. Constants stand
// for any value: the nodes stay what they are inside a Fused body, so their meaning does not depend
// on recognising it.
std::vector<Pattern> epilogue_patterns();

}  // namespace sluice
