// Lowers subgraphs of the engine `vector`: every node becomes a kernel that is generated from its
// loops, but for views, whose result is their input's bytes.
#include "common/loop/lowering.h"
#include "common/ops/infer.h"
#include "common/ops/view.h"
#include "common/pass/control_edges.h"
#include "common/target/vector.h"
#include "stages/subgraph-optimize/engines/kernels.h"
#include "stages/subgraph-optimize/engines/launch_operands.h"

namespace sluice {

Result<void> lower_vector(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels) {
  ValueFacts facts(graph);
  SLUICE_TRY(infer_graph(graph, facts));
  ControlEdges control(graph);
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  for (Node* node : nodes) {
    if (is_view(*node)) {
      node->placement.no_task = true;
      continue;
    }
    SLUICE_ASSIGN(loop::LoweredNode lowered, loop::lower_node(*node));
    node->placement.kernel =
        add_loop_kernel(graph.module(), options, kernels, lowered.graph, node->label());
    Node& launched = give_launch_operands(*node, lowered);
    if (&launched == node) continue;
    control.transfer({node}, {&launched});
    graph.erase_node(*node);
  }
  return {};
}

}  // namespace sluice
