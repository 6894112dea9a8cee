#include "stages/partition/shape_clusters.h"

#include <algorithm>
#include <utility>

#include "common/base/disjoint_sets.h"
#include "common/base/work.h"
#include "common/ir/predecessors.h"
#include "stages/partition/clusters.h"

namespace sluice {
namespace {

constexpr int kMaxRounds = 64;

using Edge = std::pair<int32_t, int32_t>;

// The clusters that each one leads to, as concatenated lists.
struct Successors {
  Successors(size_t count, const std::vector<Edge>& edges) : begin(count + 1, 0), to(edges.size()) {
    add_work(Work::kClusterEdges, edges.size());
    for (const Edge& edge : edges) ++begin[static_cast<size_t>(edge.first) + 1];
    for (size_t i = 0; i < count; ++i) begin[i + 1] += begin[i];
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    for (const Edge& edge : edges) to[next[static_cast<size_t>(edge.first)]++] = edge.second;
  }
  std::vector<size_t> begin;
  std::vector<int32_t> to;
};

// Computes strongly connected components, numbered in a topological order (Tarjan, "Depth-first
// search and linear graph algorithms", 1972; with an explicit stack of calls).
class Components {
 public:
  Components(size_t count, const std::vector<Edge>& edges)
      : successors_(count, edges),
        found_(count, -1),
        lowest_(count, 0),
        next_(successors_.begin),
        number_(count, -1) {
    for (size_t start = 0; start < count; ++start) {
      if (found_[start] < 0) search(static_cast<int32_t>(start));
    }
    // The last component was found first.
    for (int32_t& number : number_) number = count_ - 1 - number;
  }

  size_t count() const { return static_cast<size_t>(count_); }
  const std::vector<int32_t>& numbers() const { return number_; }  // by node

 private:
  void enter(int32_t node) {
    found_[static_cast<size_t>(node)] = lowest_[static_cast<size_t>(node)] = visited_++;
    path_.push_back(node);
    open_.push_back(node);
  }

  void search(int32_t start) {
    enter(start);
    while (!path_.empty()) {
      const int32_t node = path_.back();
      const auto at = static_cast<size_t>(node);
      if (next_[at] < successors_.begin[at + 1]) {
        const int32_t to = successors_.to[next_[at]++];
        if (found_[static_cast<size_t>(to)] < 0) {
          enter(to);
        } else if (number_[static_cast<size_t>(to)] < 0) {
          lowest_[at] = std::min(lowest_[at], found_[static_cast<size_t>(to)]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        int32_t& before = lowest_[static_cast<size_t>(path_.back())];
        before = std::min(before, lowest_[at]);
      }
      if (lowest_[at] == found_[at]) close(node);
    }
  }

  void close(int32_t first) {
    for (int32_t node = -1; node != first;) {
      node = open_.back();
      open_.pop_back();
      number_[static_cast<size_t>(node)] = count_;
    }
    ++count_;
  }

  Successors successors_;
  std::vector<int32_t> found_;   // when it was found; -1: not yet
  std::vector<int32_t> lowest_;  // the earliest found node that it leads back to
  std::vector<size_t> next_;     // next successor to visit
  std::vector<int32_t> number_;  // -1: open
  std::vector<int32_t> path_;
  std::vector<int32_t> open_;  // found, and not yet in a component
  int32_t visited_ = 0;
  int32_t count_ = 0;
};

class ShapeClusterGraph {
 public:
  ShapeClusterGraph(const Graph& graph, const std::vector<ShapeKind>& kinds)
      : graph_(graph), cluster_(graph.node_limit(), -1) {
    add_work(Work::kNodeVisits, graph.node_count());
    for (const Node& node : graph.nodes()) {
      const auto mine = static_cast<int32_t>(kind_.size());
      cluster_[node_index(node)] = mine;
      kind_.push_back(kinds[node_index(node)]);
      for_each_predecessor(node, [&](const Node& before) {
        edges_.emplace_back(cluster_[node_index(before)], mine);
      });
    }
  }

  void spread_unknown() {
    for (int round = 0; round < kMaxRounds; ++round) {
      std::vector<Edge> edges = edges_;
      for (const auto& [from, to] : edges_) {
        if (is(from, ShapeKind::kUnknown) && is(to, ShapeKind::kUnknown))
          edges.emplace_back(to, from);
      }
      if (edges.size() == edges_.size()) return;
      const Components components(kind_.size(), edges);
      contract(components.numbers(), components.count());
    }
  }

  // Applies the level rule of clusters.h, then its merging.
  void merge_known() {
    const Components order(kind_.size(), edges_);
    // Each cluster stays alone, but now they are in order.
    contract(order.numbers(), order.count());
    const Successors successors(kind_.size(), edges_);
    std::vector<int32_t> level(kind_.size(), 0);
    for_each_edge(successors, [&](size_t from, size_t to) {
      level[to] = std::max(level[to], level[from] + (both_known(from, to) ? 0 : 1));
    });
    DisjointSets sets(kind_.size());
    for_each_edge(successors, [&](size_t from, size_t to) {
      if (both_known(from, to) && level[from] == level[to])
        sets.unite(static_cast<int32_t>(from), static_cast<int32_t>(to));
    });
    std::vector<int32_t> keys(graph_.node_limit(), -1);
    std::vector<int32_t> clusters(graph_.node_limit(), -1);
    add_work(Work::kNodeVisits, 2 * graph_.node_count());
    for (const Node& node : graph_.nodes()) {
      const int32_t cluster = cluster_[node_index(node)];
      if (kind_[static_cast<size_t>(cluster)] == ShapeKind::kKnown) keys[node_index(node)] = 0;
      clusters[node_index(node)] = sets.find(cluster);
    }
    const std::vector<int32_t> merged = merge_clusters(graph_, keys, std::move(clusters));
    std::vector<int32_t> numbers(kind_.size(), -1);
    for (const Node& node : graph_.nodes())
      numbers[static_cast<size_t>(cluster_[node_index(node)])] = merged[node_index(node)];
    contract(numbers, kind_.size());
  }

  void downgrade_small(int64_t min_nodes) {
    std::vector<int64_t> sizes(kind_.size(), 0);
    add_work(Work::kNodeVisits, graph_.node_count());
    for (const Node& node : graph_.nodes())
      sizes[static_cast<size_t>(cluster_[node_index(node)])] += operations_of(node);
    for (size_t i = 0; i < kind_.size(); ++i) {
      if (kind_[i] == ShapeKind::kKnown && sizes[i] < min_nodes) kind_[i] = ShapeKind::kUnknown;
    }
  }

  // Clusters nodes of kind kInput: they wait for nothing, so together, or with their only reader,
  // they close no cycle.
  void settle_inputs() {
    constexpr int32_t kNone = -1, kSeveral = -2;
    std::vector<int32_t> reader(kind_.size(), kNone);
    for (const auto& [from, to] : edges_) {
      int32_t& known = reader[static_cast<size_t>(from)];
      known = known == kNone || known == to ? to : kSeveral;
    }
    std::vector<int32_t> numbers(kind_.size());
    int32_t first = kNone;
    for (int32_t i = 0; i < static_cast<int32_t>(numbers.size()); ++i) {
      int32_t& number = numbers[static_cast<size_t>(i)] = i;
      if (!is(i, ShapeKind::kInput)) continue;
      const int32_t only = reader[static_cast<size_t>(i)];
      if (only >= 0 && is(only, ShapeKind::kUnknown)) {
        number = only;
      } else {
        number = first = first < 0 ? i : first;
      }
    }
    contract(numbers, kind_.size());
  }

  ShapeClusters take() && { return {std::move(cluster_), std::move(kind_)}; }

 private:
  bool is(int32_t cluster, ShapeKind kind) const {
    return kind_[static_cast<size_t>(cluster)] == kind;
  }
  bool both_known(size_t a, size_t b) const {
    return kind_[a] == ShapeKind::kKnown && kind_[b] == ShapeKind::kKnown;
  }

  template <typename Function>
  void for_each_edge(const Successors& successors, Function function) const {
    for (size_t from = 0; from < kind_.size(); ++from) {
      for (size_t i = successors.begin[from]; i < successors.begin[from + 1]; ++i)
        function(from, static_cast<size_t>(successors.to[i]));
    }
  }

  // Contracts clusters. numbers: the new cluster of each old one. A new cluster with an unknown
  // member is unknown.
  void contract(const std::vector<int32_t>& numbers, size_t count) {
    std::vector<ShapeKind> kinds(count, ShapeKind::kKnown);
    for (size_t i = 0; i < kind_.size(); ++i) {
      ShapeKind& kind = kinds[static_cast<size_t>(numbers[i])];
      if (kind != ShapeKind::kUnknown) kind = kind_[i];
    }
    kind_ = std::move(kinds);
    add_work(Work::kNodeVisits, graph_.node_count());
    for (const Node& node : graph_.nodes()) {
      int32_t& cluster = cluster_[node_index(node)];
      cluster = numbers[static_cast<size_t>(cluster)];
    }
    for (auto& [from, to] : edges_)
      from = numbers[static_cast<size_t>(from)], to = numbers[static_cast<size_t>(to)];
    std::erase_if(edges_, [](const Edge& edge) { return edge.first == edge.second; });
  }

  const Graph& graph_;
  std::vector<int32_t> cluster_;  // by node id
  std::vector<ShapeKind> kind_;   // by cluster
  std::vector<Edge> edges_;       // between clusters; an edge may occur several times
};

// Begins a new run wherever the kind changes. Returns the number of operations of each.
std::vector<int64_t> number_runs(const Graph& graph, const std::vector<ShapeKind>& kinds,
                                 ShapeClusters& runs) {
  std::vector<int64_t> sizes;
  runs.kind.clear();
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const ShapeKind kind = kinds[node_index(node)];
    if (runs.kind.empty() || runs.kind.back() != kind) {
      runs.kind.push_back(kind);
      sizes.push_back(0);
    }
    runs.cluster[node_index(node)] = static_cast<int32_t>(runs.kind.size()) - 1;
    sizes.back() += operations_of(node);
  }
  return sizes;
}

}  // namespace

ShapeClusters find_shape_clusters(const Graph& graph, const std::vector<ShapeKind>& kinds,
                                  int64_t min_nodes) {
  ShapeClusterGraph clusters(graph, kinds);
  clusters.spread_unknown();
  clusters.merge_known();
  clusters.downgrade_small(min_nodes);
  clusters.spread_unknown();
  clusters.settle_inputs();
  return std::move(clusters).take();
}

ShapeClusters find_shape_runs(const Graph& graph, std::vector<ShapeKind> kinds, int64_t min_nodes) {
  ShapeClusters runs{std::vector<int32_t>(graph.node_limit(), -1), {}};
  const std::vector<int64_t> sizes = number_runs(graph, kinds, runs);
  for (const Node& node : graph.nodes()) {
    const auto run = static_cast<size_t>(runs.cluster[node_index(node)]);
    if (runs.kind[run] == ShapeKind::kKnown && sizes[run] < min_nodes)
      kinds[node_index(node)] = ShapeKind::kUnknown;
  }
  number_runs(graph, kinds, runs);
  return runs;
}

}  // namespace sluice
