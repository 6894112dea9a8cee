#include "stages/partition/check_convexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

std::vector<const Node*> producers_of(const Node& node) {
  std::vector<const Node*> producers(node.after().begin(), node.after().end());
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->producer() != nullptr) producers.push_back(node.input(i)->producer());
  }
  return producers;
}

int32_t cluster_of(const std::vector<int32_t>& clusters, const Node& node) { return clusters[static_cast<size_t>(node.id())]; }

// Walks forward from the cluster; a node outside that was reached from it must not feed it.
std::string return_path(const Graph& graph, const std::vector<int32_t>& clusters, int32_t cluster) {
  std::set<int32_t> outside;  // node ids
  for (const Node& node : graph.nodes()) {
    const bool inside = cluster_of(clusters, node) == cluster;
    for (const Node* producer : producers_of(node)) {
      const bool from_outside = outside.contains(producer->id());
      if (inside && from_outside)
        return fmt::format("cluster {}: {} depends on {}, which depends on the cluster", cluster, node.label(), producer->label());
      if (!inside && (from_outside || cluster_of(clusters, *producer) == cluster)) outside.insert(node.id());
    }
  }
  return {};
}

// Takes away units without open producers until none is left.
bool has_cycle(const Graph& graph, const std::vector<int32_t>& clusters) {
  // Clusters and single nodes as units; a node's unit is below 0.
  const auto unit = [&](const Node& node) { return cluster_of(clusters, node) >= 0 ? cluster_of(clusters, node) : -1 - node.id(); };
  std::set<int32_t> units;
  std::set<std::pair<int32_t, int32_t>> edges;
  for (const Node& node : graph.nodes()) {
    units.insert(unit(node));
    for (const Node* producer : producers_of(node)) {
      if (unit(*producer) != unit(node)) edges.emplace(unit(*producer), unit(node));
    }
  }
  while (!units.empty()) {
    std::set<int32_t> waiting;
    for (const auto& [from, to] : edges) waiting.insert(to);
    const size_t before = units.size();
    std::erase_if(units, [&](int32_t u) { return !waiting.contains(u); });
    if (units.size() == before) return true;
    std::erase_if(edges, [&](const auto& edge) { return !units.contains(edge.first); });
  }
  return false;
}

}  // namespace

std::vector<std::string> find_convexity_faults(const Graph& graph, const std::vector<int32_t>& clusters) {
  std::vector<std::string> faults;
  std::set<int32_t> numbers;
  for (const Node& node : graph.nodes()) numbers.insert(cluster_of(clusters, node));
  numbers.erase(-1);
  for (const int32_t cluster : numbers) {
    std::string path = return_path(graph, clusters, cluster);
    if (!path.empty()) faults.push_back(std::move(path));
  }
  if (has_cycle(graph, clusters)) faults.push_back("the clusters depend on each other in a circle");
  return faults;
}

Result<void> check_convexity(const Graph& graph, const std::vector<int32_t>& clusters, const Options& options) {
  if (options.text("verify") != "each") return {};
  std::string text;
  for (const std::string& fault : find_convexity_faults(graph, clusters)) text += "\n  " + fault;
  if (text.empty()) return {};
  return make_error(ErrorCode::kInternal, "graph '{}': clusters are not convex:{}", graph.name(), text);
}

}  // namespace sluice
