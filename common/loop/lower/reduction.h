// What a reduction reduces, for passes that rewrite it.
#pragma once

#include <optional>
#include <vector>

#include "common/ir/graph.h"

namespace sluice::loop {

// The axes of the input of a Reduce*, ArgMax or ArgMin that are reduced, where they are known.
std::optional<std::vector<bool>> reduced_axes(const Node& node);

}  // namespace sluice::loop
