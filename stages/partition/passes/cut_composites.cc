// Cuts subgraphs for composite engines: regions whose nodes may mix the engines of one composite.
//
//   before:  %a = Conv(…) placement {engine = aicore}   %b = Relu(%a) placement {engine = vector}
//            %c = Sort(%b) placement {engine = host_cpu}
//   after:   %b = Call(…) {graph = @main.c0}, of engine aicore+vector   %c = Sort(%b) …
//
// A cluster becomes a composite subgraph only when it really mixes engines; otherwise cut-subgraphs
// cuts it by its one engine. Legal because clusters are convex. Does nothing when the device has no
// composite engine.
#include <algorithm>
#include <map>
#include <set>

#include "common/base/work.h"
#include "common/target/engine_table.h"
#include "stages/partition/check_convexity.h"
#include "stages/partition/clusters.h"
#include "stages/partition/cut.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

EngineId member_of(const Node& node, const void* argument) {
  const auto& composite = *static_cast<const CompositeRow*>(argument);
  const bool member = std::find(composite.members.begin(), composite.members.end(),
                                node.placement.engine) != composite.members.end();
  return member && node.op() != Op::kCall ? composite.id : EngineId::kNone;
}

// Keeps only clusters with more than one engine.
bool keep_mixed(const Graph& graph, std::vector<int32_t>& clusters) {
  std::vector<std::set<EngineId>> engines(graph.node_limit());
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    if (const int32_t cluster = clusters[static_cast<size_t>(node.id())]; cluster >= 0)
      engines[static_cast<size_t>(cluster)].insert(node.placement.engine);
  }
  bool any = false;
  for (int32_t& cluster : clusters) {
    if (cluster >= 0 && engines[static_cast<size_t>(cluster)].size() < 2) cluster = -1;
    any = any || cluster >= 0;
  }
  return any;
}

Result<bool> cut_composite_clusters(Graph& graph, const EngineTable& table,
                                    const Options& options) {
  const bool symbolic = options.text("symbolic") != "off";
  bool changed = false;
  for (const CompositeRow& composite : table.composites) {
    std::vector<int32_t> clusters =
        find_clusters(graph, cluster_keys(graph, member_of, &composite));
    if (!keep_mixed(graph, clusters)) continue;
    SLUICE_TRY(check_convexity(graph, clusters, options));
    std::map<int32_t, StreamLabel> labels;  // by cluster: all its nodes have the same
    add_work(Work::kNodeVisits, graph.node_count());
    for (const Node& node : graph.nodes())
      labels.try_emplace(clusters[static_cast<size_t>(node.id())], node.placement.stream_label);
    int number = 0;
    const auto describe = [&](int32_t cluster) {
      return CutCluster{fmt::format("{}.c{}", graph.name(), number++), GraphRole::kSubgraph,
                        composite.id, labels[cluster]};
    };
    SLUICE_TRY(cut_clusters(graph, clusters, describe, symbolic));
    changed = true;
  }
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    Graph* callee = called_graph(node);
    if (callee == nullptr || callee->role != GraphRole::kPart) continue;
    SLUICE_ASSIGN(const bool inner, cut_composite_clusters(*callee, table, options));
    changed = changed || inner;
  }
  return changed;
}

}  // namespace

Result<bool> cut_composites(Graph& graph, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  return cut_composite_clusters(graph, table, options);
}

}  // namespace sluice
