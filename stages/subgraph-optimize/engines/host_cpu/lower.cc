#include "common/ops/view.h"
#include "stages/subgraph-optimize/engines/engines.h"

namespace sluice {

Result<void> lower_host_cpu(Graph& graph, const GeneratorOptions&, KernelRequests&) {
  for (Node& node : graph.nodes()) node.placement.no_task = is_view(node);
  return {};
}

}  // namespace sluice
