#include "stages/subgraph-optimize/split_nodes.h"

#include "common/ops/infer.h"
#include "common/pass/control_edges.h"
#include "stages/subgraph-optimize/subgraphs.h"

namespace sluice {
namespace {

std::vector<Node*> split_each(Graph& graph, SplitNode split) {
  ControlEdges control(graph);
  std::vector<Node*> nodes, made;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  for (Node* node : nodes) {
    const std::vector<Node*> heirs = split(*node);
    if (heirs.empty()) continue;
    control.transfer({node}, heirs);
    graph.erase_node(*node);
    made.insert(made.end(), heirs.begin(), heirs.end());
  }
  return made;
}

// The types of other nodes stay as they are: lowering infers them again.
Result<void> infer_types_of(const std::vector<Node*>& nodes, const Graph& graph) {
  ValueFacts facts(graph);
  for (Node* node : nodes) SLUICE_TRY(infer_node(*node, facts));
  return {};
}

}  // namespace

Result<bool> split_nodes(Graph& root, std::string_view engine, SplitNode split) {
  return rewrite_subgraphs(root, engine, [&](Graph& graph) -> Result<bool> {
    const std::vector<Node*> made = split_each(graph, split);
    if (made.empty()) return false;
    SLUICE_TRY(infer_types_of(made, graph));
    return true;
  });
}

}  // namespace sluice
