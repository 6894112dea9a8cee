// Initializers that are inputs too, with --overridable-inputs=on.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Adds the value of an input that may be given when the model runs and is `constant` otherwise: the
// input becomes an optional, followed by
//
//   %has = OptionalHasElement(%input)
//   %name = If(%has, %input) {then_branch = OptionalGetElement(input), else_branch = constant}
Value& add_overridable(Graph& graph, Value& input, SegmentId constant, const std::string& name);

}  // namespace sluice
