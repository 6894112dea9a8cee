#include "stages/partition/clusters.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "common/base/disjoint_sets.h"
#include "common/base/work.h"
#include "common/ir/predecessors.h"

namespace sluice {
namespace {

// Two clusters may be merged when their slots differ by at most this.
constexpr int32_t kSearchLimit = 1024;
constexpr size_t kEdgeLimit = 16 * kSearchLimit;  // edges searched for it

// The graph of clusters while neighbours are merged, with a topological order of it: each cluster
// has a slot, and every edge leads to a later slot. Slots of merged clusters stay empty.
class ClusterGraph {
 public:
  ClusterGraph(const Graph& graph, const std::vector<int32_t>& keys, std::vector<int32_t> cluster)
      : cluster_(std::move(cluster)),
        sets_(graph.node_limit()),
        successors_(graph.node_limit()),
        predecessors_(graph.node_limit()),
        slot_(graph.node_limit(), -1),
        key_(graph.node_limit(), -1) {
    std::vector<int32_t> by_first_node;
    for (const Node& node : graph.nodes()) {
      const int32_t mine = cluster_[node_index(node)];
      if (slot_[static_cast<size_t>(mine)] < 0) {
        slot_[static_cast<size_t>(mine)] = static_cast<int32_t>(by_first_node.size());
        by_first_node.push_back(mine);
      }
      key_[static_cast<size_t>(mine)] = keys[node_index(node)];
      for_each_predecessor(node, [&](const Node& before) {
        const int32_t theirs = cluster_[node_index(before)];
        if (theirs == mine) return;
        successors_[static_cast<size_t>(theirs)].insert(mine);
        predecessors_[static_cast<size_t>(mine)].insert(theirs);
        edges_.push_back({theirs, mine});
      });
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    order_clusters(by_first_node);
    edges_seen_ = 3 * edges_.size();  // for collecting, ordering and merging
  }

  void merge_neighbours() {
    for (const auto& [from, to] : edges_) {
      const int32_t a = sets_.find(from), b = sets_.find(to);
      if (a == b || key_[static_cast<size_t>(a)] < 0 ||
          key_[static_cast<size_t>(a)] != key_[static_cast<size_t>(b)])
        continue;
      Side behind, ahead;
      if (!has_second_path(a, b, behind, ahead)) merge(a, b, behind, ahead);
    }
  }

  uint64_t edges_seen() const { return edges_seen_; }
  int32_t cluster(const Node& node) { return sets_.find(cluster_[node_index(node)]); }

 private:
  int32_t slot(int32_t cluster) const { return slot_[static_cast<size_t>(cluster)]; }

  // Orders the clusters by Kahn's algorithm, the cluster with the earliest first node first, so
  // that the order stays close to the nodes'.
  void order_clusters(const std::vector<int32_t>& by_first_node) {
    std::vector<int32_t> waiting(by_first_node.size(), 0);  // by rank in by_first_node
    for (const auto& [from, to] : edges_) ++waiting[static_cast<size_t>(slot(to))];
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t rank = 0; rank < waiting.size(); ++rank) {
      if (waiting[rank] == 0) ready.push(static_cast<int32_t>(rank));
    }
    while (!ready.empty()) {
      const int32_t cluster = by_first_node[static_cast<size_t>(ready.top())];
      ready.pop();
      order_.push_back(cluster);
      for (const int32_t next : successors_[static_cast<size_t>(cluster)]) {
        if (--waiting[static_cast<size_t>(slot(next))] == 0) ready.push(slot(next));
      }
    }
    for (size_t i = 0; i < order_.size(); ++i)
      slot_[static_cast<size_t>(order_[i])] = static_cast<int32_t>(i);
  }

  // One side of the search for a second path: the clusters between a and b that `start` leads to,
  // or that lead to it.
  struct Side {
    std::set<int32_t> reached;
    std::vector<int32_t> stack;
    size_t edges = 0;
  };

  // Visits one more cluster. Returns true when it met `goal` by another path than the direct edge,
  // or the other side.
  bool advance(Side& side, const Side& other, const std::vector<std::set<int32_t>>& edges,
               int32_t start, int32_t goal) {
    const int32_t from = side.stack.back();
    side.stack.pop_back();
    side.edges += edges[static_cast<size_t>(from)].size();
    const auto [first, last] = std::minmax({slot(start), slot(goal)});
    for (const int32_t raw : edges[static_cast<size_t>(from)]) {
      const int32_t next = sets_.find(raw);
      if ((next == goal && from != start) || other.reached.contains(next)) return true;
      if (first < slot(next) && slot(next) < last && side.reached.insert(next).second)
        side.stack.push_back(next);
    }
    return false;
  }

  // Returns whether a path other than the direct edge leads from a to b; true also when the search
  // would take too long. Searches forward from a and backward from b in turn, on the side that has
  // seen fewer edges, until they meet or one side has seen all.
  bool has_second_path(int32_t a, int32_t b, Side& behind, Side& ahead) {
    if (slot(b) - slot(a) > kSearchLimit) return true;
    behind.stack = {a};
    ahead.stack = {b};
    bool met = false;
    while (!met && !behind.stack.empty() && !ahead.stack.empty() &&
           behind.edges + ahead.edges <= kEdgeLimit) {
      met = behind.edges <= ahead.edges ? advance(behind, ahead, successors_, a, b)
                                        : advance(ahead, behind, predecessors_, b, a);
    }
    edges_seen_ += behind.edges + ahead.edges;
    return met || behind.edges + ahead.edges > kEdgeLimit;
  }

  // Merges a and b. The merged cluster is placed after the clusters that lead to b and before
  // those that a leads to, whichever of the two sets is known.
  void merge(int32_t a, int32_t b, const Side& behind, const Side& ahead) {
    const int32_t begin = slot(a), end = slot(b);
    sets_.unite(a, b);
    const int32_t whole = sets_.find(a), part = whole == a ? b : a;
    std::vector<int32_t> between, later;
    for (int32_t i = begin + 1; i < end; ++i) {
      const int32_t cluster = order_[static_cast<size_t>(i)];
      if (cluster < 0) continue;
      const bool goes_behind = behind.stack.empty() ? behind.reached.contains(cluster)
                                                    : !ahead.reached.contains(cluster);
      (goes_behind ? later : between).push_back(cluster);
    }
    between.push_back(whole);
    between.insert(between.end(), later.begin(), later.end());
    std::fill(order_.begin() + begin, order_.begin() + end + 1, -1);
    int32_t i = end + 1 - static_cast<int32_t>(between.size());
    for (const int32_t cluster : between) {
      order_[static_cast<size_t>(i)] = cluster;
      slot_[static_cast<size_t>(cluster)] = i++;
    }
    join(successors_[static_cast<size_t>(whole)], successors_[static_cast<size_t>(part)]);
    join(predecessors_[static_cast<size_t>(whole)], predecessors_[static_cast<size_t>(part)]);
  }

  static void join(std::set<int32_t>& mine, std::set<int32_t>& theirs) {
    if (mine.size() < theirs.size()) mine.swap(theirs);
    mine.insert(theirs.begin(), theirs.end());
    theirs.clear();
  }

  std::vector<int32_t> cluster_;  // by node id, before merging
  DisjointSets sets_;
  // The edges of clusters, by the numbers they had when the edge was found.
  std::vector<std::set<int32_t>> successors_;
  std::vector<std::set<int32_t>> predecessors_;
  std::vector<int32_t> order_;  // clusters by slot, -1 where one was merged into another
  std::vector<int32_t> slot_;   // by cluster
  std::vector<int32_t> key_;
  std::vector<std::pair<int32_t, int32_t>> edges_;
  uint64_t edges_seen_ = 0;
};

// Applies the level rule. Clusters are named by a node id; a node without a key is one of its own.
std::vector<int32_t> level_clusters(const Graph& graph, const std::vector<int32_t>& keys) {
  std::vector<int32_t> level(graph.node_limit(), 0);
  DisjointSets sets(graph.node_limit());
  for (const Node& node : graph.nodes()) {
    const int32_t key = keys[node_index(node)];
    int32_t& mine = level[node_index(node)];
    for_each_predecessor(node, [&](const Node& before) {
      const bool same = key >= 0 && keys[node_index(before)] == key;
      mine = std::max(mine, level[node_index(before)] + (same ? 0 : 1));
    });
    for_each_predecessor(node, [&](const Node& before) {
      const bool same =
          key >= 0 && keys[node_index(before)] == key && level[node_index(before)] == mine;
      if (same) sets.unite(before.id(), node.id());
    });
  }
  std::vector<int32_t> cluster(graph.node_limit(), -1);
  for (const Node& node : graph.nodes()) cluster[node_index(node)] = sets.find(node.id());
  return cluster;
}

}  // namespace

std::vector<int32_t> merge_clusters(const Graph& graph, const std::vector<int32_t>& keys,
                                    std::vector<int32_t> clusters) {
  ClusterGraph merged(graph, keys, std::move(clusters));
  merged.merge_neighbours();
  add_work(Work::kNodeVisits, 2 * graph.node_count());  // cluster graph, clusters
  add_work(Work::kClusterEdges, merged.edges_seen());
  std::vector<int32_t> result(graph.node_limit(), -1);
  for (const Node& node : graph.nodes()) result[node_index(node)] = merged.cluster(node);
  return result;
}

std::vector<int32_t> find_clusters(const Graph& graph, const std::vector<int32_t>& keys) {
  std::vector<int32_t> clusters = merge_clusters(graph, keys, level_clusters(graph, keys));
  add_work(Work::kNodeVisits, graph.node_count());
  std::vector<int32_t> numbers(graph.node_limit(), -1);  // of representatives
  int32_t next = 0;
  for (const Node& node : graph.nodes()) {
    int32_t& cluster = clusters[node_index(node)];
    int32_t& number = numbers[static_cast<size_t>(cluster)];
    if (keys[node_index(node)] >= 0 && number < 0) number = next++;
    cluster = number;
  }
  return clusters;
}

std::vector<int32_t> cluster_keys(const Graph& graph,
                                  EngineId (*engine_of)(const Node& node, const void* argument),
                                  const void* argument) {
  std::map<std::pair<EngineId, std::string>, int32_t> known;
  std::vector<int32_t> keys(graph.node_limit(), -1);
  for (const Node& node : graph.nodes()) {
    const EngineId engine = engine_of(node, argument);
    if (engine == EngineId::kNone) continue;
    keys[node_index(node)] = known
                                 .try_emplace({engine, node.placement.stream_label.text},
                                              static_cast<int32_t>(known.size()))
                                 .first->second;
  }
  return keys;
}

}  // namespace sluice
