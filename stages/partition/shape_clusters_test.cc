#include "stages/partition/shape_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "stages/partition/check_convexity.h"

namespace sluice {
namespace {

using enum ShapeKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kinds = std::vector<ShapeKind>;

// Makes a node for each list of the nodes that it reads; with an empty list it reads the input.
Module make_graph(const std::vector<std::vector<int>>& reads) {
  Module module;
  Graph& graph = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {2}));
  Value& x = graph.add_input(type, "x");
  std::vector<Value*> results;
  for (const std::vector<int>& list : reads) {
    std::vector<Value*> inputs;
    for (const int node : list) inputs.push_back(results[static_cast<size_t>(node)]);
    if (inputs.empty()) inputs.push_back(&x);
    Node& node = graph.add_node(Op::kSum, inputs);
    node.output().set_type(type);
    results.push_back(&node.output());
  }
  graph.add_output(*results.back());
  return module;
}

Module random_near_graph(std::mt19937& random, int nodes, int reach) {
  std::vector<std::vector<int>> reads;
  for (int n = 0; n < nodes; ++n) {
    std::vector<int>& list = reads.emplace_back();
    for (uint32_t i = 0; n > 0 && i < random() % 4; ++i)
      list.push_back(n - 1 -
                     static_cast<int>(random() % static_cast<uint32_t>(std::min(n, reach))));
  }
  return make_graph(reads);
}

Kinds random_kinds(std::mt19937& random, const Graph& graph) {
  Kinds kinds;
  const uint32_t often = 2 + random() % 6;
  for (const Node& node : graph.nodes()) {
    const bool starts = node.input(0)->producer() == nullptr;
    kinds.push_back(random() % often == 0         ? kUnknown
                    : starts && random() % 2 == 0 ? kInput
                                                  : kKnown);
  }
  return kinds;
}

template <typename Function>
void for_each_edge(const Graph& graph, Function function) {
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i)->producer() != nullptr)
        function(static_cast<size_t>(node.input(i)->producer()->id()),
                 static_cast<size_t>(node.id()));
    }
  }
}

// Computes rule 3a literally: returns which nodes are unknown in the end.
std::vector<bool> spread_slowly(const Graph& graph, const Kinds& kinds) {
  const size_t count = kinds.size();
  std::vector<size_t> cluster(count);
  std::vector<bool> unknown(count);
  for (size_t i = 0; i < count; ++i) cluster[i] = i, unknown[i] = kinds[i] == kUnknown;
  const auto unite = [&](size_t a, size_t b) {
    if (cluster[a] == cluster[b]) return false;
    const size_t from = cluster[a], to = cluster[b];
    std::replace(cluster.begin(), cluster.end(), from, to);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for_each_edge(graph, [&](size_t a, size_t b) {
      changed = (unknown[a] && unknown[b] && unite(a, b)) || changed;
    });
    // A path may also pass through a cluster.
    std::vector<std::vector<bool>> leads(count, std::vector<bool>(count));
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b) leads[a][b] = cluster[a] == cluster[b];
    }
    for_each_edge(graph, [&](size_t a, size_t b) { leads[a][b] = true; });
    for (size_t k = 0; k < count; ++k) {
      for (size_t a = 0; a < count; ++a) {
        for (size_t b = 0; leads[a][k] && b < count; ++b) leads[a][b] = leads[a][b] || leads[k][b];
      }
    }
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; unknown[a] && b < count; ++b) {
        if (!leads[a][b] || !leads[b][a] || cluster[a] == cluster[b]) continue;
        unite(a, b);
        for (size_t i = 0; i < count; ++i) unknown[i] = unknown[i] || cluster[i] == cluster[a];
        changed = true;
      }
    }
  }
  return unknown;
}

ShapeKind kind_of(const ShapeClusters& clusters, size_t node) {
  return clusters.kind[static_cast<size_t>(clusters.cluster[node])];
}

void expect_rules(const Graph& graph, const Kinds& kinds, const ShapeClusters& clusters) {
  ASSERT_THAT(find_convexity_faults(graph, clusters.cluster), IsEmpty());
  for_each_edge(graph, [&](size_t a, size_t b) {
    if (clusters.cluster[a] == clusters.cluster[b]) return;
    EXPECT_FALSE(kind_of(clusters, a) == kUnknown && kind_of(clusters, b) == kUnknown)
        << "nodes " << a << " and " << b;
  });
  for (size_t i = 0; i < kinds.size(); ++i) {
    const ShapeKind kind = kind_of(clusters, i);  // 3c
    EXPECT_TRUE(kind == kinds[i] || (kind == kUnknown && kinds[i] != kUnknown)) << "node " << i;
  }
}

TEST(ShapeClusters, OfRandomGraphsFollowTheRules) {
  std::mt19937 random(1);
  for (int round = 0; round < 500 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Module module = random_near_graph(random, 2 + static_cast<int>(random() % 24), 6);
    const Graph& graph = module.root();
    const Kinds kinds = random_kinds(random, graph);
    const ShapeClusters clusters = find_shape_clusters(graph, kinds, 0);
    expect_rules(graph, kinds, clusters);
    const std::vector<bool> unknown = spread_slowly(graph, kinds);
    for (size_t i = 0; i < unknown.size(); ++i) {
      EXPECT_TRUE(kinds[i] == kInput || unknown[i] == (kind_of(clusters, i) == kUnknown))
          << "node " << i;
    }
    for_each_edge(graph, [&](size_t a, size_t b) {  // 3b
      const int32_t first = clusters.cluster[a], second = clusters.cluster[b];
      if (first == second || kind_of(clusters, a) != kKnown || kind_of(clusters, b) != kKnown)
        return;
      std::vector<int32_t> merged = clusters.cluster;
      std::replace(merged.begin(), merged.end(), second, first);
      EXPECT_FALSE(find_convexity_faults(graph, merged).empty()) << "nodes " << a << " and " << b;
    });
    EXPECT_EQ(find_shape_clusters(graph, kinds, 0).cluster, clusters.cluster);
  }
}

TEST(ShapeClusters, HaveEnoughKnownNodes) {
  std::mt19937 random(2);
  for (int round = 0; round < 500 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Module module = random_near_graph(random, 2 + static_cast<int>(random() % 40), 5);
    const Graph& graph = module.root();
    const Kinds kinds = random_kinds(random, graph);
    for (const bool stable : {false, true}) {
      const ShapeClusters clusters =
          stable ? find_shape_runs(graph, kinds, 4) : find_shape_clusters(graph, kinds, 4);
      std::vector<int> sizes(clusters.kind.size(), 0);
      for (size_t i = 0; i < kinds.size(); ++i) ++sizes[static_cast<size_t>(clusters.cluster[i])];
      for (size_t i = 0; i < sizes.size(); ++i)
        EXPECT_FALSE(clusters.kind[i] == kKnown && sizes[i] > 0 && sizes[i] < 4);
      if (!stable) expect_rules(graph, kinds, clusters);
    }
  }
}

// In 0 -> 1 -> 2 with 1 unknown, and 0 -> 2: as one cluster, 0 and 2 would wait for themselves.
TEST(ShapeClusters, OfKnownNodesCloseNoRing) {
  Module module = make_graph({{}, {0}, {0, 1}});
  EXPECT_THAT(find_shape_clusters(module.root(), {kKnown, kUnknown, kKnown}, 0).kind,
              ElementsAre(kKnown, kUnknown, kKnown));
}

// The cycle leads over two nodes that are one unknown cluster only together: 0 -> 2, 1 -> 3, 2 and
// 3 unknown and both read by 4; 2 -> 5, 0 -> 5.
TEST(ShapeClusters, OfKnownNodesCloseNoRingOverAnUnknownCluster) {
  Module module = make_graph({{}, {}, {0}, {}, {2, 3}, {1, 3}, {1, 0}});
  const Kinds kinds = {kKnown, kKnown, kUnknown, kUnknown, kUnknown, kKnown, kKnown};
  const ShapeClusters clusters = find_shape_clusters(module.root(), kinds, 0);
  EXPECT_THAT(find_convexity_faults(module.root(), clusters.cluster), IsEmpty());
  // Over 6, 0 and 1 are one; 5 waits for nodes that wait for 0.
  EXPECT_EQ(clusters.cluster[0], clusters.cluster[6]);
  EXPECT_EQ(clusters.cluster[1], clusters.cluster[6]);
  EXPECT_NE(clusters.cluster[5], clusters.cluster[1]);
}

// An absorbed node may have unknown neighbours of its own: 2 is between 0 and 1's reader 3, so 4,
// which reads it, joins them too.
TEST(ShapeClusters, SpreadFromWhatWasSwallowed) {
  Module module = make_graph({{}, {0}, {1}, {0, 2}, {2}});
  const Kinds kinds = {kUnknown, kKnown, kKnown, kUnknown, kUnknown};
  const ShapeClusters clusters = find_shape_clusters(module.root(), kinds, 0);
  EXPECT_EQ(std::vector<int32_t>(5, clusters.cluster[0]), clusters.cluster);
  EXPECT_EQ(clusters.kind, Kinds{kUnknown});
}

// Nodes 0 to 3 read nothing: two for a known node and one for both are one cluster, and the one
// that the unknown node alone reads joins that node. The shared one also leads to the unknown node
// after the known one, but that absorbs nothing.
TEST(ShapeClusters, OfInputsAreOneButForThoseOfOneUnknownReader) {
  Module module = make_graph({{}, {}, {}, {}, {0, 1, 2}, {4, 2, 3}});
  const Kinds kinds = {kInput, kInput, kInput, kInput, kKnown, kUnknown};
  const std::vector<int32_t> clusters = find_shape_clusters(module.root(), kinds, 0).cluster;
  EXPECT_EQ(clusters[0], clusters[1]);
  EXPECT_EQ(clusters[0], clusters[2]);
  EXPECT_NE(clusters[0], clusters[4]);
  EXPECT_NE(clusters[4], clusters[5]);
  EXPECT_EQ(clusters[3], clusters[5]);
}

TEST(ShapeClusters, OfRunsKeepTheOrder) {
  Module module = make_graph({{}, {}, {0}, {0}, {1}, {2, 3}});
  const Kinds kinds = {kUnknown, kUnknown, kKnown, kKnown, kUnknown, kKnown};
  EXPECT_THAT(find_shape_runs(module.root(), kinds, 1).cluster, ElementsAre(0, 0, 1, 1, 2, 3));
  EXPECT_THAT(find_shape_runs(module.root(), kinds, 2).cluster, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(find_shape_runs(module.root(), kinds, 3).cluster, ElementsAre(0, 0, 0, 0, 0, 0));
}

// The tests below bound how the work increases with the number of nodes.

struct Shape {
  std::vector<std::vector<int>> reads;
  Kinds kinds;
};

// Makes four known nodes and an unknown one in turn, each reading the one before and one far back.
Shape chain(int nodes) {
  Shape shape;
  for (int n = 0; n < nodes; ++n) {
    shape.reads.push_back(n == 0 ? std::vector<int>{}
                                 : std::vector<int>{n - 1, std::max(0, n - 7)});
    shape.kinds.push_back(n % 5 == 0 ? kUnknown : kKnown);
  }
  return shape;
}

// Makes unknown and known nodes in turn: each known node, once it is absorbed, makes the unknown
// one after the next a neighbour, and only then the next known one is between unknown ones of one
// cluster. This is the worst case of spreading.
Shape cascade(int nodes) {
  Shape shape;
  for (int n = 0; n < nodes; ++n) {
    const bool is_known = n % 2 == 1;
    shape.reads.push_back(n == 0     ? std::vector<int>{}
                          : is_known ? std::vector<int>{n - 1}
                                     : std::vector<int>{n - 1, std::max(0, n - 3)});
    shape.kinds.push_back(is_known ? kKnown : kUnknown);
  }
  return shape;
}

// Makes one unknown chain beside a known one that it feeds everywhere.
Shape ladder(int nodes) {
  Shape shape{{{}, {}}, {kUnknown, kKnown}};
  for (int n = 2; n + 1 < nodes; n += 2) {
    shape.reads.push_back({n - 2});
    shape.kinds.push_back(kUnknown);
    shape.reads.push_back({n - 1, n});
    shape.kinds.push_back(kKnown);
  }
  return shape;
}

uint64_t work_of(const Shape& shape) {
  Module module = make_graph(shape.reads);
  const WorkCounts before = work_done();
  find_shape_clusters(module.root(), shape.kinds, 4);
  const WorkCounts done = work_since(before);
  return done[static_cast<size_t>(Work::kClusterEdges)] +
         done[static_cast<size_t>(Work::kNodeVisits)];
}

TEST(ShapeClusters, WorkGrowsWithTheGraph) {
  for (const auto make : {chain, cascade, ladder}) {
    const uint64_t small = work_of(make(5000)), large = work_of(make(25000));
    EXPECT_LE(10 * large, 65 * small);
    EXPECT_LE(large, 500u * 25000u);  // 64 rounds of 6 edges and a node, for the cascade
  }
}

}  // namespace
}  // namespace sluice
