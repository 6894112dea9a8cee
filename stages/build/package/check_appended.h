// Checks again what the pass store-states-in-place promises of values that are appended to in
// place: a graph may have been edited since.
#pragma once

#include <set>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Checks the values of a part that have capacity to be appended to. states: the inputs and outputs
// of the part that are states in the memory of their bound. Nothing else may have such capacity;
// such an output is a Concat of such an input, of the same storage, and of dense values along the
// axis of appending; host nodes read neither, except their shape. Returns kNotBuildable otherwise.
Result<void> check_appended(const Graph& part, const std::set<const Value*>& states);

}  // namespace sluice
