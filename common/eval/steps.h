// The cost of evaluation where the sizes of inputs and results do not determine it.
#pragma once

#include <cstdint>

#include "common/ir/graph.h"

namespace sluice {

// About a tenth of a second; a node with more steps is not evaluated while compiling.
inline constexpr uint64_t kMaxFoldSteps = uint64_t{1} << 25;

// Returns the number of steps of evaluating the node when its attributes make that more than its
// bytes: an Einsum that sums over many subscripts, a RoiAlign of many samples, a TfIdfVectorizer of
// long grams. Returns 0 for all others, and where types are not fixed. Saturates.
uint64_t hidden_steps(const Node& node);

}  // namespace sluice
