#include "common/ops/infer.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"

namespace sluice {
namespace {

Result<void> lower_node(Lowering& lowering, Node& node) {
  Contraction contraction{};
  read_contraction(node, contraction);
  if (const auto quantized = read_quantized(node))
    return reads_matrix_in_place(node, *quantized)
               ? lower_quantized_matmul(lowering, contraction, *quantized)
               : lower_quantized(lowering, contraction, *quantized);
  return contraction.anchor->op() == Op::kConv ? lower_conv(lowering, contraction)
                                               : lower_matmul(lowering, contraction);
}

}  // namespace

Result<void> lower_aicore(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels) {
  // A graph from another writer may give a result a type that its operands contradict, and kernels
  // follow the types.
  ValueFacts facts(graph);
  SLUICE_TRY(infer_graph(graph, facts));
  Lowering lowering(graph, options, kernels);
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  for (Node* node : nodes) SLUICE_TRY(lower_node(lowering, *node));
  lowering.erase_unread_copies();
  return {};
}

}  // namespace sluice
