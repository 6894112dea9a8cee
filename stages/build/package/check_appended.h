// What the pass store-states-in-place promises of values that grow, looked at again: a graph may
// have been edited since.
#pragma once

#include <set>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// states: the inputs and outputs of the part that are states in the memory of their bound. Nothing
// else may have room to grow; such an output is a Concat of such an input, of the same storage, and
// of dense values along the axis that grows; host nodes read neither, but for their shape. Error:
// kNotBuildable.
Result<void> check_appended(const Graph& part, const std::set<const Value*>& states);

}  // namespace sluice
