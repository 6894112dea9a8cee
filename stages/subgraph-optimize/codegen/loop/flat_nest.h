// A nest of a loop graph as the generator works on it: accesses are offsets into their buffers, and
// axes that are walked together are one axis.
#pragma once

#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice {

struct FlatNest {
  // Its extents, and the expressions of its instructions and guards, are rewritten for the joined
  // axes; axes of extent 1 are gone.
  loop::Nest nest;
  std::vector<loop::AxisId> outer;                // those that are left, outermost first
  std::vector<ExpressionId> load_offsets;         // by instruction; -1 for what loads nothing
  std::vector<std::vector<ExpressionId>> stores;  // by sweep and store: offsets
};

// Joins axes a and b into one where every expression of the nest that mentions them is linear in
// both, with the stride of a equal to that of b times its extent.
FlatNest flatten_nest(loop::LoopGraph& graph, const loop::Nest& nest);

}  // namespace sluice
