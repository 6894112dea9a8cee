// Puts small shape arithmetic on host_cpu, where its results are needed to know how much memory the
// other nodes need.
//
//   before:  %s = Shape(%x)   %d = Gather(%s, %i)   %t = Reshape(%d, %k)
//   after:   the same three with placement {engine = host_cpu}
//
// shape_arithmetic.h defines shape arithmetic; each body of control flow is decided on its own.
// Nodes that the user placed stay on their engines. Legal because an engine assignment changes no
// result.
#include "common/base/work.h"
#include "common/ir/module.h"
#include "stages/partition/passes/passes.h"
#include "stages/partition/shape_arithmetic.h"

namespace sluice {
namespace {

bool place(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, 2 * graph.node_count());
  for (const Node& node : graph.nodes()) {
    for (const GraphId body : node.bodies()) changed = place(graph.module().graph(body)) || changed;
  }
  const std::vector<bool> wanted = find_shape_arithmetic(graph);
  for (Node& node : graph.nodes()) {
    if (!wanted[static_cast<size_t>(node.id())] || node.placement.engine != EngineId::kNone)
      continue;
    node.placement.engine = EngineId::kHostCpu;
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> place_shapes_on_host(Graph& graph, const Options&) { return place(graph); }

}  // namespace sluice
