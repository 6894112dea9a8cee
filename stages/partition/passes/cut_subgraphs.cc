// Cuts subgraphs of one engine (and one stream label) each.
//
//   before:  %a = Conv(%x, %w) placement {engine = aicore}
//            %b = Softmax(%a) placement {engine = host_cpu}
//   after:   %a = Call(%x, %w) {graph = @main.p0}   %b = Call(%a) {graph = @main.p1}
//
// clusters.h describes how nodes are grouped. Legal because clusters are convex: a Call needs no
// result of nodes that wait for it.
#include <utility>

#include "common/base/work.h"
#include "stages/partition/check_convexity.h"
#include "stages/partition/clusters.h"
#include "stages/partition/cut.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

EngineId own_engine(const Node& node, const void*) {
  return called_graph(node) != nullptr ? EngineId::kNone : node.placement.engine;
}

Result<bool> cut_engine_clusters(Graph& graph, const Options& options) {
  const bool symbolic = options.text("symbolic") != "off";
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    Graph* callee = called_graph(node);
    if (callee == nullptr || callee->role != GraphRole::kPart) continue;
    SLUICE_ASSIGN(const bool inner, cut_engine_clusters(*callee, options));
    changed = changed || inner;
  }
  const std::vector<int32_t> clusters =
      find_clusters(graph, cluster_keys(graph, own_engine, nullptr));
  SLUICE_TRY(check_convexity(graph, clusters, options));
  std::vector<const Node*> first(graph.node_limit(), nullptr);
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const int32_t cluster = clusters[static_cast<size_t>(node.id())];
    if (cluster >= 0 && first[static_cast<size_t>(cluster)] == nullptr)
      first[static_cast<size_t>(cluster)] = &node;
  }
  int number = 0;
  const auto describe = [&](int32_t cluster) {
    const Placement& placement = first[static_cast<size_t>(cluster)]->placement;
    return CutCluster{fmt::format("{}.p{}", graph.name(), number++), GraphRole::kSubgraph,
                      placement.engine, placement.stream_label};
  };
  SLUICE_TRY(cut_clusters(graph, clusters, describe, symbolic));
  changed = changed || number > 0;
  if (graph.role != GraphRole::kRoot || graph.shapes == ShapeClass::kDynamic)
    return changed;  // split-shapes decided it
  const ShapeClass before = std::exchange(graph.shapes, classify_shapes(graph, symbolic));
  return changed || graph.shapes != before;
}

}  // namespace

Result<bool> cut_subgraphs(Graph& graph, const Options& options) {
  return cut_engine_clusters(graph, options);
}

}  // namespace sluice
