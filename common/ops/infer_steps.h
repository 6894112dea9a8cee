// What infer_node consists of.
#pragma once

#include "common/ops/infer_call.h"

namespace sluice {

// Recursion into bodies comes back through these.
Result<bool> infer_node_in(Node& node, ValueFacts& facts, int body_depth);
Result<bool> infer_graph_in(Graph& graph, ValueFacts& facts, int body_depth);

// Value facts of the node's results, from its inputs' and the types inferred just before. What
// cannot be said is left out.
void infer_values(InferCall& call);

}  // namespace sluice
