// Checks clusters by a slow and plain algorithm on purpose, without any code of clusters.cc or
// cut.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Returns the faults of clusters (by node id; -1: a node of its own), a sentence each: a path,
// along values or control edges, that leaves a cluster and comes back; a cycle among the clusters,
// each taken as one node. O(E log E) without faults; at most 20 paths are reported.
std::vector<std::string> find_convexity_faults(const Graph& graph,
                                               const std::vector<int32_t>& clusters);

// With --verify=each, returns kInternal with all faults.
Result<void> check_convexity(const Graph& graph, const std::vector<int32_t>& clusters,
                             const Options& options);

}  // namespace sluice
