// Which values follow from the shapes of others.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Returns whether a value is computed of constants and shapes alone, or is given by the caller of a
// graph that is a part of another one, where it is not known. false: its elements may be the data
// of a run, or it has too long a history to look at.
bool is_of_shapes(const Value& value);

}  // namespace sluice
