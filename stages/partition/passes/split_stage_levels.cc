// Makes a part of each pipeline stage that the user marked.
//
//   before:  %a = Relu(%x) placement {stage_level = 0}   %b = Neg(%a) placement {stage_level = 1}
//   after:   %a = Call(%x) {graph = @Subgraph_Level_0}   %b = Call(%a) {graph = @Subgraph_Level_1}
//
// Nodes without a mark take the lowest level of their readers; nodes that no marked node reads go
// to a final stage after the last one. The parts are dynamic: they are run one by one, not lowered
// together. Legal because levels may not fall along an edge, which is checked. Without marks, or
// with one stage only, nothing happens.
#include <algorithm>
#include <map>

#include "common/base/work.h"
#include "stages/partition/cut.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

constexpr int64_t kNoLevel = -1;
// By node id; the final stage may have a number after the last one that a placement can store.
using Levels = std::vector<int64_t>;

Levels inherited_levels(const Graph& graph) {
  Levels levels(graph.node_limit(), kNoLevel);
  for (const Node* node = graph.last_node(); node != nullptr; node = node->previous()) {
    int64_t& level = levels[static_cast<size_t>(node->id())];
    level = std::max<int64_t>(node->placement.stage_level, kNoLevel);
    if (level != kNoLevel) continue;
    for (size_t k = 0; k < node->output_count(); ++k) {
      for (const Use& use : node->output(k).uses()) {
        const int64_t reader = levels[static_cast<size_t>(use.node->id())];
        if (reader != kNoLevel && (level == kNoLevel || reader < level)) level = reader;
      }
    }
  }
  return levels;
}

Result<void> check_levels_rise(const Graph& graph, const Levels& levels) {
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Node* producer = node.input(i) == nullptr ? nullptr : node.input(i)->producer();
      if (producer == nullptr) continue;
      const int64_t from = levels[static_cast<size_t>(producer->id())],
                    to = levels[static_cast<size_t>(node.id())];
      if (from > to) {
        return make_error(ErrorCode::kBadStageLevel, "{} of stage level {} reads {} of level {}",
                          node.label(), to, producer->label(), from)
            .with_hint("a pipeline stage may read its own and earlier stages only");
      }
    }
  }
  return {};
}

}  // namespace

Result<bool> split_stage_levels(Graph& graph, const Options& options) {
  Levels levels = inherited_levels(graph);
  const int64_t last = levels.empty() ? kNoLevel : *std::max_element(levels.begin(), levels.end());
  if (last == kNoLevel) return false;
  std::map<int64_t, int32_t> clusters;  // by level
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    int64_t& level = levels[static_cast<size_t>(node.id())];
    if (level == kNoLevel) level = last + 1;
    clusters.try_emplace(level, static_cast<int32_t>(clusters.size()));
  }
  if (clusters.size() < 2) return false;  // one part alone is the root
  SLUICE_TRY(check_levels_rise(graph, levels));
  std::vector<int32_t> cluster_of(levels.size(), -1);
  std::vector<int64_t> level_of(clusters.size());
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node.id());
    cluster_of[id] = clusters.at(levels[id]);
    level_of[static_cast<size_t>(cluster_of[id])] = levels[id];
  }
  const auto describe = [&](int32_t cluster) {
    return CutCluster{
        .name = fmt::format("Subgraph_Level_{}", level_of[static_cast<size_t>(cluster)]),
        .role = GraphRole::kPart,
        .shapes = ShapeClass::kDynamic};
  };
  SLUICE_TRY(cut_clusters(graph, cluster_of, describe, options.text("symbolic") != "off"));
  return true;
}

}  // namespace sluice
