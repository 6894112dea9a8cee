#include "stages/partition/clusters.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace sluice {
namespace {

constexpr int kSearchLimit = 512;  // clusters looked at for a second path

size_t index_of(const Node& node) { return static_cast<size_t>(node.id()); }

template <typename Function>
void for_each_predecessor(const Node& node, Function function) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->producer() != nullptr) function(*node.input(i)->producer());
  }
  for (const Node* before : node.after()) {
    if (!before->is_erased()) function(*before);
  }
}

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int32_t find(int32_t x) {
    while (parent_[static_cast<size_t>(x)] != x)
      x = parent_[static_cast<size_t>(x)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(x)])];
    return x;
  }
  // The smaller id stays the representative, so results do not depend on the order of unions.
  void unite(int32_t a, int32_t b) {
    a = find(a), b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int32_t> parent_;
};

// The graph of clusters while neighbours are merged. Positions are of nodes in topological order.
class ClusterGraph {
 public:
  ClusterGraph(const Graph& graph, const std::vector<int32_t>& keys, std::vector<int32_t> cluster)
      : cluster_(std::move(cluster)),
        sets_(graph.node_limit()),
        successors_(graph.node_limit()),
        span_(graph.node_limit()),
        key_(graph.node_limit(), -1) {
    int32_t position = 0;
    for (const Node& node : graph.nodes()) {
      const int32_t mine = cluster_[index_of(node)];
      Span& span = span_[static_cast<size_t>(mine)];
      span.low = span.low < 0 ? position : span.low;
      span.high = position++;
      key_[static_cast<size_t>(mine)] = keys[index_of(node)];
      for_each_predecessor(node, [&](const Node& before) {
        const int32_t theirs = cluster_[index_of(before)];
        if (theirs == mine) return;
        successors_[static_cast<size_t>(theirs)].insert(mine);
        edges_.push_back({theirs, mine});
      });
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  void merge_neighbours() {
    for (const auto& [from, to] : edges_) {
      const int32_t a = sets_.find(from), b = sets_.find(to);
      if (a == b || key_[static_cast<size_t>(a)] < 0 || key_[static_cast<size_t>(a)] != key_[static_cast<size_t>(b)]) continue;
      if (!has_second_path(a, b)) merge(a, b);
    }
  }

  int32_t cluster(const Node& node) { return sets_.find(cluster_[index_of(node)]); }

 private:
  struct Span {
    int32_t low = -1, high = -1;
  };

  // From a to b other than by a direct edge. A cluster that starts behind the end of b cannot lead to it.
  bool has_second_path(int32_t a, int32_t b) {
    std::set<int32_t> seen;
    std::vector<int32_t> stack;
    const auto push_successors = [&](int32_t from) {
      for (const int32_t raw : successors_[static_cast<size_t>(from)]) {
        const int32_t next = sets_.find(raw);
        if (next == from || (from == a && next == b) || next == a) continue;
        if (span_[static_cast<size_t>(next)].low <= span_[static_cast<size_t>(b)].high && seen.insert(next).second) stack.push_back(next);
      }
    };
    push_successors(a);
    while (!stack.empty()) {
      const int32_t next = stack.back();
      stack.pop_back();
      if (next == b || seen.size() > kSearchLimit) return true;
      push_successors(next);
    }
    return false;
  }

  void merge(int32_t a, int32_t b) {
    sets_.unite(a, b);
    const auto whole = static_cast<size_t>(sets_.find(a)), part = static_cast<size_t>(whole == static_cast<size_t>(a) ? b : a);
    if (successors_[whole].size() < successors_[part].size()) successors_[whole].swap(successors_[part]);
    successors_[whole].insert(successors_[part].begin(), successors_[part].end());
    successors_[part].clear();
    span_[whole] = {std::min(span_[whole].low, span_[part].low), std::max(span_[whole].high, span_[part].high)};
  }

  std::vector<int32_t> cluster_;  // by node id, before merging
  DisjointSets sets_;
  std::vector<std::set<int32_t>> successors_;
  std::vector<Span> span_;
  std::vector<int32_t> key_;
  std::vector<std::pair<int32_t, int32_t>> edges_;
};

// The level rule. Clusters are named by a node id; a node without a key is one of its own.
std::vector<int32_t> level_clusters(const Graph& graph, const std::vector<int32_t>& keys) {
  std::vector<int32_t> level(graph.node_limit(), 0);
  DisjointSets sets(graph.node_limit());
  for (const Node& node : graph.nodes()) {
    const int32_t key = keys[index_of(node)];
    int32_t& mine = level[index_of(node)];
    for_each_predecessor(node, [&](const Node& before) {
      const bool same = key >= 0 && keys[index_of(before)] == key;
      mine = std::max(mine, level[index_of(before)] + (same ? 0 : 1));
    });
    for_each_predecessor(node, [&](const Node& before) {
      const bool same = key >= 0 && keys[index_of(before)] == key && level[index_of(before)] == mine;
      if (same) sets.unite(before.id(), node.id());
    });
  }
  std::vector<int32_t> cluster(graph.node_limit(), -1);
  for (const Node& node : graph.nodes()) cluster[index_of(node)] = sets.find(node.id());
  return cluster;
}

}  // namespace

std::vector<int32_t> find_clusters(const Graph& graph, const std::vector<int32_t>& keys) {
  ClusterGraph clusters(graph, keys, level_clusters(graph, keys));
  clusters.merge_neighbours();
  std::vector<int32_t> numbers(graph.node_limit(), -1);  // of representatives
  std::vector<int32_t> result(graph.node_limit(), -1);
  int32_t next = 0;
  for (const Node& node : graph.nodes()) {
    if (keys[index_of(node)] < 0) continue;
    int32_t& number = numbers[static_cast<size_t>(clusters.cluster(node))];
    if (number < 0) number = next++;
    result[index_of(node)] = number;
  }
  return result;
}

std::vector<int32_t> cluster_keys(const Graph& graph, EngineId (*engine_of)(const Node& node, const void* argument), const void* argument) {
  std::map<std::pair<EngineId, std::string>, int32_t> known;
  std::vector<int32_t> keys(graph.node_limit(), -1);
  for (const Node& node : graph.nodes()) {
    const EngineId engine = engine_of(node, argument);
    if (engine == EngineId::kNone) continue;
    keys[index_of(node)] = known.try_emplace({engine, node.plan.stream_label}, static_cast<int32_t>(known.size())).first->second;
  }
  return keys;
}

}  // namespace sluice
