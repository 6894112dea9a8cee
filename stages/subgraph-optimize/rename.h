// Equal subgraphs are lowered once; rename restores each copy's own names and origins.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// The names of a compacted subgraph, by id. Equal subgraphs have equal ids.
struct SubgraphNames {
  std::vector<std::string> values;
  std::vector<std::string> nodes;
  std::vector<std::vector<std::string>> origins;  // ONNX nodes, by node id
};

SubgraphNames read_names(const Graph& graph);

// Renames `lowered`, which was made from a graph with the names `from`, to the names `to`. Names
// that lowering derived from others, such as "conv1:nhwc", are changed with them.
void rename(Graph& lowered, const SubgraphNames& from, const SubgraphNames& to);

}  // namespace sluice
