// Clusters of the known/unknown split: sets of nodes that become parts (catalogue 1.8).
//
// Unknown kinds spread: two unknown neighbours become one cluster together with all nodes on paths
// from one to the other, known or not (3a). Known neighbours become one unless that would close a
// cycle (3b). Known and unknown ones never do (3c). Then known clusters of fewer than `min_nodes`
// nodes become unknown, and unknown kinds spread again. At last the nodes of kind kInput become one
// cluster, except those that one unknown cluster alone reads: they join it.
//
// Neighbours that are unknown depend on each other as far as clusters are concerned, so 3a means:
// edges between unknown clusters lead in both directions, and the strongly connected components are
// the new clusters. An absorbed node may have unknown neighbours of its own; so this is repeated
// until there are none, in linear time each. Past kMaxRounds such neighbours stay apart, which is
// legal.
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

// Finds the clusters, which are convex. kinds: by node id.
ShapeClusters find_shape_clusters(const Graph& graph, const std::vector<ShapeKind>& kinds,
                                  int64_t min_nodes);

// Finds clusters each of which is a run of neighbours in the order of the nodes, connected or not,
// so that parts keep that order.
ShapeClusters find_shape_runs(const Graph& graph, std::vector<ShapeKind> kinds, int64_t min_nodes);

}  // namespace sluice
