#include "stages/partition/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "common/ir/module.h"
#include "stages/partition/check_convexity.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes nodes of one to three inputs, mostly near ones; some wait for others by control edges.
Module random_graph(std::mt19937& random, int nodes) {
  Module module;
  Graph& graph = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {2}));
  std::vector<Value*> values = {&graph.add_input(type, "x")};
  std::vector<Node*> made;
  for (int n = 0; n < nodes; ++n) {
    std::vector<Value*> inputs;
    for (uint32_t i = 0; i < 1 + random() % 3; ++i) {
      const size_t reach = random() % 4 == 0 ? values.size() : std::min<size_t>(values.size(), 6);
      inputs.push_back(values[values.size() - 1 - random() % reach]);
    }
    Node& node = graph.add_node(Op::kSum, inputs);
    node.output().set_type(type);
    if (!made.empty() && random() % 8 == 0) node.add_after(*made[random() % made.size()]);
    values.push_back(&node.output());
    made.push_back(&node);
  }
  graph.add_output(*values.back());
  return module;
}

std::vector<int32_t> random_keys(std::mt19937& random, const Graph& graph) {
  std::vector<int32_t> keys(graph.node_limit(), -1);
  for (int32_t& key : keys) key = static_cast<int32_t>(random() % 4) - 1;
  return keys;
}

TEST(Clusters, OfRandomGraphsAreConvexDeterministicAndOfOneKey) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Module module = random_graph(random, 2 + static_cast<int>(random() % 60));
    const Graph& graph = module.root();
    const std::vector<int32_t> keys = random_keys(random, graph);
    const std::vector<int32_t> clusters = find_clusters(graph, keys);
    ASSERT_THAT(find_convexity_faults(graph, clusters), IsEmpty()) << "round " << round;
    ASSERT_EQ(clusters, find_clusters(graph, keys)) << "round " << round;
    std::vector<int32_t> key_of(clusters.size(), -1);
    int32_t next = 0;  // numbered by first nodes
    for (const Node& node : graph.nodes()) {
      const int32_t key = keys[static_cast<size_t>(node.id())],
                    cluster = clusters[static_cast<size_t>(node.id())];
      ASSERT_EQ(cluster < 0, key < 0);
      if (cluster < 0) continue;
      ASSERT_LE(cluster, next);
      if (cluster == next) key_of[static_cast<size_t>(next++)] = key;
      ASSERT_EQ(key_of[static_cast<size_t>(cluster)], key);
    }
  }
}

// No two remaining neighbours of one key could be one cluster.
TEST(Clusters, OfRandomGraphsCannotBeMergedFurther) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    Module module = random_graph(random, 2 + static_cast<int>(random() % 30));
    const Graph& graph = module.root();
    const std::vector<int32_t> keys = random_keys(random, graph);
    const std::vector<int32_t> clusters = find_clusters(graph, keys);
    for (const Node& node : graph.nodes()) {
      for (size_t i = 0; i < node.input_count(); ++i) {
        const Node* producer = node.input(i)->producer();
        if (producer == nullptr) continue;
        const int32_t a = clusters[static_cast<size_t>(producer->id())],
                      b = clusters[static_cast<size_t>(node.id())];
        if (a == b || a < 0 ||
            keys[static_cast<size_t>(producer->id())] != keys[static_cast<size_t>(node.id())])
          continue;
        std::vector<int32_t> merged = clusters;
        std::replace(merged.begin(), merged.end(), b, a);
        EXPECT_FALSE(find_convexity_faults(graph, merged).empty())
            << "round " << round << ": clusters " << a << " and " << b;
      }
    }
  }
}

TEST(Clusters, AChainOfManyNodesIsQuick) {
  Module module;
  Graph& graph = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {2}));
  Value* last = &graph.add_input(type, "x");
  std::vector<int32_t> keys;
  for (int n = 0; n < 100000; ++n) {
    Node& node = graph.add_node(Op::kRelu, {last});
    node.output().set_type(type);
    last = &node.output();
    keys.push_back(n / 10 % 2);
  }
  graph.add_output(*last);
  const std::vector<int32_t> clusters = find_clusters(graph, keys);
  EXPECT_EQ(*std::max_element(clusters.begin(), clusters.end()), 9999);
}

TEST(CheckConvexity, FindsWhatIsNotConvexAndCircles) {
  Module module;
  Graph& graph = module.add_graph("main");
  Value& x = graph.add_input(module.intern(Type::fixed_tensor(DType::kF32, {2})), "x");
  Node& a = graph.add_node(Op::kRelu, {&x});
  Node& b = graph.add_node(Op::kNeg, {&a.output()});
  Node& c = graph.add_node(Op::kAdd, {&a.output(), &b.output()});
  Node& d = graph.add_node(Op::kNeg, {&x});
  graph.add_output(c.output());
  graph.add_output(d.output());
  EXPECT_THAT(find_convexity_faults(graph, {0, 0, 0, 0}), IsEmpty());
  EXPECT_THAT(find_convexity_faults(graph, {0, 0, 1, 0}), IsEmpty());
  EXPECT_THAT(find_convexity_faults(graph, {0, 1, 0, -1}),
              ::testing::ElementsAre(HasSubstr("cluster 0: "), HasSubstr("circle")));
  EXPECT_THAT(find_convexity_faults(graph, {0, -1, 0, -1}),
              ::testing::ElementsAre(HasSubstr("cluster 0: "), HasSubstr("circle")));
  d.add_after(b);
  EXPECT_THAT(find_convexity_faults(graph, {0, 1, 1, 0}),
              ::testing::ElementsAre(HasSubstr("cluster 0: "), HasSubstr("circle")));
}

}  // namespace
}  // namespace sluice
