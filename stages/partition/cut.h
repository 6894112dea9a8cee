// Moves clusters of nodes into graphs of their own, called from their former positions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

struct CutCluster {
  std::string name;  // of the new graph
  GraphRole role = GraphRole::kSubgraph;
  EngineId engine = EngineId::kNone;
  StreamLabel stream_label;
  std::optional<ShapeClass> shapes;  // absent: the result of classify_shapes
};

// Cuts the clusters out. clusters: by node id, -1 stays in place. describe returns the name and
// kind of a cluster's graph, and is called once per cluster in the order of the Calls. Each Call
// takes the values its nodes read from outside in the order of first use, then the constants: those
// above kSmallSegmentBytes, and all constant expressions, become parameters of the new graph;
// smaller ones are copied into it. Its results are the values read outside, in node order. Returns
// kCycle when a cluster is not convex; the graph is unchanged then.
Result<void> cut_clusters(Graph& graph, const std::vector<int32_t>& clusters,
                          const std::function<CutCluster(int32_t cluster)>& describe,
                          bool symbolic);

// Returns fixed when every dim is, symbolic when every dim can be computed from the inputs, dynamic
// otherwise. With symbolic = false a graph that is not fixed is dynamic.
ShapeClass classify_shapes(const Graph& graph, bool symbolic);

}  // namespace sluice
