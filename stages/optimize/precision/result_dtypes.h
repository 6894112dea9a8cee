// Asks the op table in which dtypes a node can compute.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns the dtypes of the node's results when its inputs have these dtypes (kUndefined: absent),
// or nothing when its operator does not accept them, or the results are not those of inputs and
// attributes alone: those of bodies, constants among the attributes, sequences.
std::optional<std::vector<DType>> result_dtypes(const Node& node, const std::vector<DType>& inputs);

}  // namespace sluice
