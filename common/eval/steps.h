// What evaluation costs where the sizes of inputs and results do not say it.
#pragma once

#include <cstdint>

#include "common/ir/graph.h"

namespace sluice {

inline constexpr uint64_t kMaxFoldSteps =
    uint64_t{1} << 25;  // a tenth of a second: above, a node is not evaluated while compiling

// Steps that evaluating the node takes when attributes make that more than its bytes: an Einsum
// that sums over many subscripts, a RoiAlign of many samples, a TfIdfVectorizer of long grams. 0
// for all others, and where types are not fixed. Saturates.
uint64_t hidden_steps(const Node& node);

}  // namespace sluice
