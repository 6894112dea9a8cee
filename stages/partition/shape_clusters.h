// Clusters of the known/unknown split: sets of nodes that become parts (catalogue 1.8).
//
// What is unknown spreads: two unknown neighbours become one cluster together with all that lies on
// ways from one to the other, known or not (3a). Known neighbours become one unless that would
// close a ring (3b). Known and unknown ones never do (3c). Then known clusters of fewer than
// `fewest` nodes become unknown, and what is unknown spreads again. Nodes of kind kInput become one
// by themselves at last, but for those that one unknown cluster alone reads: they join it.
//
// Neighbours that are unknown depend on each other as far as clusters go, so 3a is: edges between
// unknown clusters lead both ways, and the strongly connected components are the new clusters. What
// is swallowed may have unknown neighbours of its own; so it is repeated until there are none, each
// time linear. Past kMaxRounds such neighbours stay apart, which is legal.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/graph.h"
#include "stages/partition/shape_kinds.h"

namespace sluice {

struct ShapeClusters {
  std::vector<int32_t> cluster;  // by node id, numbers below the graph's node_limit()
  std::vector<ShapeKind> kind;   // by cluster
};

// kinds: by node id. The clusters are convex.
ShapeClusters find_shape_clusters(const Graph& graph, const std::vector<ShapeKind>& kinds,
                                  int64_t min_nodes);

// The same with every cluster a run of neighbours in the order of the nodes, connected or not, so
// that parts keep that order.
ShapeClusters find_shape_runs(const Graph& graph, std::vector<ShapeKind> kinds, int64_t min_nodes);

}  // namespace sluice
