// Puts a replacement graph in the place of a piece of a graph (catalogue 1.6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/boundary.h"

namespace sluice {

// What one pass replaced.
struct RewriteStatistics {
  std::string pass;      // who replaces; must not be empty
  uint64_t matches = 0;  // replacements asked for
  uint64_t effects = 0;  // replacements made
};

// Copies the nodes of `replacement` (of any module) into the boundary's graph, gives the outputs'
// readers its outputs and erases the old nodes. Inputs and outputs correspond by position. The new
// values keep the names of the outputs that they replace; the new nodes get the old ones' origins,
// placement and control edges. Answers the new nodes in order. Errors, which leave the graph
// unchanged: kBadGraph when the boundary is none, the numbers of inputs or outputs differ or the
// replacement has a cycle, kCycle when the nodes cannot be one piece (can_fuse), kInternal when the
// statistics name no pass.
Result<std::vector<Node*>> replace(const Boundary& boundary, Graph& replacement,
                                   RewriteStatistics& statistics);

}  // namespace sluice
