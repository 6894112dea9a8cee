// What a graph needs to be sunk as one fixed part.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Values that no fixed part can hold: dims that are not fixed, elements that are not plain, values that are no tensors. In list order; the
// graphs that Calls stand for are looked into, and what a Call gives is listed where the node inside makes it.
std::vector<const Value*> unfixed_values(const Graph& root);

// kLimit for values above 2^47 bytes, all named.
Result<void> check_sizes(const Graph& root);

// "node 'conv1' (Conv), result 'y'", "input 'x'", "constant 'w'".
std::string describe_value(const Value& value);

}  // namespace sluice
