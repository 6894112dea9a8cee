#include "common/ops/op_table.h"
#include "stages/subgraph-optimize/engines/engines.h"

namespace sluice {

// A view's result is its input's bytes under another shape, so no task is needed.
Result<void> lower_host_cpu(Graph& graph, const GeneratorOptions&, KernelCache&) {
  for (Node& node : graph.nodes()) {
    const OpRow* row = find_op(node.op());
    node.placement.no_task = row != nullptr && (row->flags & kView) != 0 &&
                             node.output_count() == 1 && node.output().type().is_tensor();
  }
  return {};
}

}  // namespace sluice
