// The graph that a model with a root walks.
#pragma once

#include <vector>

#include "common/ir/module.h"
#include "stages/build/weights/layout_weights.h"

namespace sluice {

// Returns the constants of the linked graph that the walk reads and that are in the weights, not in
// the graph: all except small ones, those of bodies and attributes included, in order of first use.
std::vector<SegmentId> root_weights(const Graph& root);

// Returns a copy of the linked graph in which Calls name parts by their index in list order, nodes
// that launch no kernel (launches: find_launches) are tasks of host_cpu, and constants are found at
// their offsets in
// "/weights".
Module make_root_graph(const Graph& root, const WeightLayout& layout,
                       const std::vector<bool>& launches);

}  // namespace sluice
