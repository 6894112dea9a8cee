// Comparison of a constant or a node's attributes with those of a pattern, across two modules.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Accepts any constant, or with `by_value` one of the same dtype, shape and bytes. Constants whose
// bytes are not available are equal to none.
bool constant_matches(const Value& pattern, const Value& target, bool by_value);

// Returns true for the same attributes with the same values. An absent one is not equal to one that
// spells out the default.
bool attributes_match(const Node& pattern, const Node& target);

}  // namespace sluice
