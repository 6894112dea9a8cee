// The steps of infer_node.
#pragma once

#include "common/ops/infer_call.h"

namespace sluice {

// Infer a node or graph inside bodies; the recursion into bodies calls these.
Result<bool> infer_node_in(Node& node, ValueFacts& facts, int body_depth);
Result<bool> infer_graph_in(Graph& graph, ValueFacts& facts, int body_depth);

// Computes value facts of the node's results from those of its inputs and the types inferred just
// before. Facts that cannot be expressed are omitted.
void infer_values(InferCall& call);

}  // namespace sluice
