// The axes of a reduction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns the axes that a reduction is over, ascending and from the front; nothing when they are
// not known, or when the node is no reduction.
std::optional<std::vector<int64_t>> reduced_axes(const Node& reduction);

}  // namespace sluice
