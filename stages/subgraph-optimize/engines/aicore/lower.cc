#include "common/ops/attributes.h"
#include "common/ops/infer.h"
#include "common/target/recurrent.h"
#include "common/target/recurrent_halves.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"

namespace sluice {
namespace {

Error not_split(const Node& node) {
  return make_error(ErrorCode::kNotLowerable, "{}: there are kernels for two halves of it only",
                    node.label())
      .with_hint("let the pass split-recurrent-cells run, which makes these");
}

Result<void> lower_node(Lowering& lowering, Node& node) {
  if (is_recurrent(node.op())) return not_split(node);
  if (node.op() == Op::kFused && find_recurrent(*node.get(attributes::Fused::body)) != nullptr)
    return lower_recurrent_walk(lowering, node);
  if (is_recurrent_products(node)) return lower_recurrent_products(lowering, node);
  Contraction contraction{};
  read_contraction(node, contraction);
  if (const auto quantized = read_quantized(node))
    return reads_matrix_in_place(node, *quantized)
               ? lower_quantized_matmul(lowering, contraction, *quantized)
               : lower_quantized(lowering, contraction, *quantized);
  switch (contraction.anchor->op()) {
    case Op::kAttention:
      return lower_attention(lowering, contraction);
    case Op::kConv:
      return lower_conv(lowering, contraction);
    default:
      return lower_matmul(lowering, contraction);
  }
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
