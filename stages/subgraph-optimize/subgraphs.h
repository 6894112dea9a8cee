// The subgraphs of a partitioned graph, each distinct one once, and their kernels.
#pragma once

#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "stages/subgraph-optimize/engines/engines.h"
#include "stages/subgraph-optimize/rename.h"

namespace sluice {

// One distinct subgraph. `names` are the names that its first owner uses.
struct DistinctSubgraph {
  Module module;
  SubgraphNames names;
};

struct PlacedSubgraph {
  Node* call;
  size_t distinct;  // index into Subgraphs::distinct
  SubgraphNames names;
};

struct Subgraphs {
  std::deque<DistinctSubgraph> distinct;
  std::vector<PlacedSubgraph> placed;  // one for each Call, in their order
};

// Returns whether the graph is a subgraph in a file of its own (sluice-partition --split).
inline bool is_subgraph_alone(const Graph& graph) { return graph.engine != EngineId::kNone; }

// Runs the rewrite on each subgraph of the engine that the root or its parts call, or on the root
// where that is a subgraph alone. Returns whether any changed.
Result<bool> rewrite_subgraphs(Graph& root, std::string_view engine,
                               const std::function<Result<bool>(Graph& subgraph)>& rewrite);

// Copies what the root or its parts call. Subgraphs are equal by structure digest and symbols.
Result<Subgraphs> distinct_subgraphs(Graph& root);

Result<GeneratorOptions> generator_options(const Options& options);

// Lowers each in its own module, in threads, up to the code of its kernels.
Result<void> choose_kernels(Subgraphs& subgraphs, const GeneratorOptions& options,
                            KernelRequests& kernels, int64_t threads);

}  // namespace sluice
