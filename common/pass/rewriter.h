// Replaces a part of a graph by a replacement graph (catalogue 1.6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/boundary.h"

namespace sluice {

// The replacements of one pass.
struct RewriteStatistics {
  std::string pass;      // the name of the pass; must not be empty
  uint64_t matches = 0;  // requested replacements
  uint64_t effects = 0;  // replacements made
};

// Copies the nodes of `replacement` (of any module) into the boundary's graph, makes the readers of
// its outputs read the new ones, and erases the old nodes. Inputs and outputs correspond by
// position. The new values keep the names of the outputs that they replace; the new nodes get the
// origins, placement and control edges of the old ones. Returns the new nodes in order. Errors,
// which leave the graph unchanged: kBadGraph when the boundary is invalid, the numbers of inputs or
// outputs differ or the replacement has a cycle, kCycle when the nodes cannot be fused (can_fuse),
// kInternal when the statistics have no pass name.
Result<std::vector<Node*>> replace(const Boundary& boundary, Graph& replacement,
                                   RewriteStatistics& statistics);

}  // namespace sluice
