// When a constant or a node's attributes are what a pattern's are, across two modules.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Any constant, or with `by_value` one of the same dtype, shape and bytes. Constants whose bytes
// are not at hand equal none.
bool constant_matches(const Value& pattern, const Value& target, bool by_value);

// The same attributes with the same values; an absent one is not equal to one that spells out the
// default.
bool attributes_match(const Node& pattern, const Node& target);

}  // namespace sluice
