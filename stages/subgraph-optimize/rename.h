// Equal subgraphs are lowered once; this gives each copy its own names and origins back.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Names of a compacted subgraph, by id. Equal subgraphs have equal ids.
struct SubgraphNames {
  std::vector<std::string> values;
  std::vector<std::string> nodes;
  std::vector<std::vector<std::string>> origins;  // ONNX nodes, by node id
};

SubgraphNames read_names(const Graph& graph);

// `lowered` was made from a graph named as `from`; names it as `to`. Names that lowering made from
// others, "conv1:nhwc", follow theirs.
void rename(Graph& lowered, const SubgraphNames& from, const SubgraphNames& to);

}  // namespace sluice
