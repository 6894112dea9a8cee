// Reasons why a node cannot be lowered that several families share.
#pragma once

#include <string>

#include "common/ir/graph.h"

namespace sluice::loop {

// Only floats of 16 to 64 bits.
std::string needs_floats(const Node& node);
// Only numbers, no bools.
std::string needs_numbers(const Node& node);
// Inputs must have sizes that are the result's, or fixed 1, so that it is known which are
// broadcast.
std::string needs_known_broadcast(const Node& node);
// Both of the last two.
std::string needs_broadcast_numbers(const Node& node);

}  // namespace sluice::loop
