#include "stages/partition/check_convexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice {
namespace {

constexpr size_t kListed = 20;

std::vector<const Node*> producers_of(const Node& node) {
  std::vector<const Node*> producers(node.after().begin(), node.after().end());
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->producer() != nullptr)
      producers.push_back(node.input(i)->producer());
  }
  return producers;
}

int32_t cluster_of(const std::vector<int32_t>& clusters, const Node& node) {
  return clusters[static_cast<size_t>(node.id())];
}

// Returns a path that leaves the cluster and comes back: a node outside that is reached from the
// cluster must not feed it.
std::string return_path(const Graph& graph, const std::vector<int32_t>& clusters, int32_t cluster) {
  std::set<int32_t> outside;  // node ids
  for (const Node& node : graph.nodes()) {
    const bool inside = cluster_of(clusters, node) == cluster;
    for (const Node* producer : producers_of(node)) {
      const bool from_outside = outside.contains(producer->id());
      if (inside && from_outside)
        return fmt::format("cluster {}: {} depends on {}, which depends on the cluster", cluster,
                           node.label(), producer->label());
      if (!inside && (from_outside || cluster_of(clusters, *producer) == cluster))
        outside.insert(node.id());
    }
  }
  return {};
}

// Removes units without open producers until none is left, units being clusters and single nodes;
// returns the clusters that could not be removed: those on a cycle of units, or after one. A path
// that leaves a cluster and comes back is such a cycle.
std::set<int32_t> stuck_clusters(const Graph& graph, const std::vector<int32_t>& clusters,
                                 bool& any) {
  const auto unit = [&](const Node& node) {
    return cluster_of(clusters, node) >= 0 ? cluster_of(clusters, node) : -1 - node.id();
  };
  std::map<int32_t, size_t> open;  // for each unit: edges from units not yet removed
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (const Node& node : graph.nodes()) {
    open.try_emplace(unit(node), 0);
    for (const Node* producer : producers_of(node)) {
      if (unit(*producer) == unit(node)) continue;
      edges.emplace_back(unit(*producer), unit(node));
      ++open[unit(node)];
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<int32_t> free;
  for (const auto& [number, count] : open) {
    if (count == 0) free.push_back(number);
  }
  while (!free.empty()) {
    const int32_t taken = free.back();
    free.pop_back();
    open.erase(taken);
    for (auto edge = std::lower_bound(edges.begin(), edges.end(), std::pair(taken, INT32_MIN));
         edge != edges.end() && edge->first == taken; ++edge) {
      if (--open[edge->second] == 0) free.push_back(edge->second);
    }
  }
  any = !open.empty();
  std::set<int32_t> stuck;
  for (const auto& [number, count] : open) {
    if (number >= 0) stuck.insert(number);
  }
  return stuck;
}

}  // namespace

std::vector<std::string> find_convexity_faults(const Graph& graph,
                                               const std::vector<int32_t>& clusters) {
  std::vector<std::string> faults;
  bool any = false;
  for (const int32_t cluster : stuck_clusters(graph, clusters, any)) {
    std::string path = return_path(graph, clusters, cluster);
    if (!path.empty()) faults.push_back(std::move(path));
    if (faults.size() == kListed) break;
  }
  if (any) faults.push_back("the clusters depend on each other in a circle");
  return faults;
}

Result<void> check_convexity(const Graph& graph, const std::vector<int32_t>& clusters,
                             const Options& options) {
  if (options.text("verify") != "each") return {};
  std::string text;
  for (const std::string& fault : find_convexity_faults(graph, clusters)) text += "\n  " + fault;
  if (text.empty()) return {};
  return make_error(ErrorCode::kInternal, "graph '{}': clusters are not convex:{}", graph.name(),
                    text);
}

}  // namespace sluice
