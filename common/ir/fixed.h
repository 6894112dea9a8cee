// The check that a graph is one fixed part, all this release builds.
#pragma once

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// kDimNotFixed with the --dim line to copy when symbols of the inputs remain; kNotBuildable when shapes depend on data, or values are no
// tensors of plain elements; kLimit for values above 2^47 bytes.
// The graphs that Calls stand for are looked into; what a Call gives is named by the node inside that makes it.
Result<void> check_fixed(const Graph& root);

}  // namespace sluice
