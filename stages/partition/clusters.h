// Clusters of one engine: convex sets of nodes that become subgraphs.
//
// They start from levels: level(v) = max over producers u of level(u) + (key(u)
// != key(v)); nodes of the same key and level that are connected are one cluster. Such clusters are
// convex by construction: on a path from the cluster back into it the level cannot rise, so the key
// cannot change. Then neighbours of the cluster graph with the same key are merged unless a second
// path leads from one to the other (catalogue 1.7). The search follows a topological order of the
// clusters, updated while they merge (as in Pearce and Kelly, "A dynamic topological sort algorithm
// for directed acyclic graphs", JEA 2006), from both ends at once; it is bounded, and past the
// bound the pair stays apart.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns where a list by node id has the node.
inline size_t node_index(const Node& node) { return static_cast<size_t>(node.id()); }

// Returns the cluster of each node by id, numbered in the order of their first nodes; -1 for nodes
// without a key. keys, by node id, must be equal within a cluster; -1 keeps the node out of every
// cluster. Linear except for the bounded merging.
std::vector<int32_t> find_clusters(const Graph& graph, const std::vector<int32_t>& keys);

// Does the merging alone. clusters: by node id, numbers below node_limit(), no cycle among them;
// all nodes of one have the same key, and those of key -1 stay as they are. Returns the cluster of
// each node by id: the smallest of the merged numbers.
std::vector<int32_t> merge_clusters(const Graph& graph, const std::vector<int32_t>& keys,
                                    std::vector<int32_t> clusters);

// Returns the key of each node: equal numbers for equal engine and stream label. `engine_of` maps a
// node to its engine; kNone means no key.
std::vector<int32_t> cluster_keys(const Graph& graph,
                                  EngineId (*engine_of)(const Node& node, const void* argument),
                                  const void* argument);

}  // namespace sluice
