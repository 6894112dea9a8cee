// Passes that split nodes, over several subgraphs.
#include <gtest/gtest.h>

#include "common/text/text.h"
#include "common/verify/verify.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/subgraphs.h"

namespace sluice {
namespace {

Module partitioned(const std::string& text) {
  auto module = parse_module("sluice 1 partitioned\n" + text, "test");
  EXPECT_TRUE(module.ok()) << module.error().message;
  return std::move(module).value();
}

// Subgraphs of one node each, every one with names of its own.
Module calling(const std::string& type, const std::string& node,
               const std::vector<std::string>& engines) {
  std::string results, calls, graphs;
  for (size_t i = 0; i < engines.size(); ++i) {
    const std::string own = std::to_string(i), engine = " placement {engine = " + engines[i] + "}";
    results += (i == 0 ? "%y" : ", %y") + own;
    calls += "  %y" + own + ": f32[1] = Call(%x) {graph = @p" + own + "}" + engine + "\n";
    graphs += "graph @p" + own + "(%x" + own + ": " + type + ") -> (%y" + own +
              ") subgraph engine " + engines[i] + " {\n  %y" + own + ": f32[1] = " + node + "(%x" +
              own + ")" + engine + " name \"node" + own + "\"\n}\n";
  }
  return partitioned("graph @main(%x: " + type + ") -> (" + results + ") {\n" + calls + "}\n" +
                     graphs);
}

bool splits_reductions(Module& module) {
  const auto changed = split_reductions(module.root(), Options());
  EXPECT_TRUE(changed.ok()) << changed.error().message;
  const auto verified = verify(module, Level::kPartitioned);
  EXPECT_TRUE(verified.ok()) << verified.error().message;
  return *changed;
}

size_t count_distinct(Module& module) {
  auto subgraphs = distinct_subgraphs(module.root());
  EXPECT_TRUE(subgraphs.ok()) << subgraphs.error().message;
  return subgraphs->distinct.size();
}

// The nodes that are made have names that come from the old ones: equality does not look at them.
TEST(SplitNodes, EqualSubgraphsStayEqual) {
  Module module = calling("f32[300007]", "ReduceMax", {"vector", "vector", "vector"});
  EXPECT_TRUE(splits_reductions(module));
  EXPECT_EQ(count_distinct(module), 1u);
}

TEST(SplitNodes, OfOneEngine) {
  Module module = calling("f32[300007]", "ReduceMax", {"host_cpu", "vector"});
  EXPECT_TRUE(splits_reductions(module));
  EXPECT_EQ(module.graph(1).node_count(), 1u);
  EXPECT_EQ(module.graph(2).node_count(), 2u);
}

TEST(SplitNodes, ChangesNothingASecondTime) {
  Module module = calling("f32[300007]", "ReduceSum", {"vector"});
  EXPECT_TRUE(splits_reductions(module));
  EXPECT_FALSE(splits_reductions(module));
}

TEST(SplitNodes, LeavesWhatIsShort) {
  Module module = calling("f32[1000]", "ReduceSum", {"vector"});
  EXPECT_FALSE(splits_reductions(module));
}

// Lowering says why it does not take such a node.
TEST(SplitNodes, LeavesWhatTheEngineDoesNotSupport) {
  Module module = partitioned(
      "graph @p(%x: c64[300007]) -> (%y) subgraph engine vector {\n"
      "  %y: c64[1] = ReduceSum(%x) placement {engine = vector}\n}\n");
  EXPECT_FALSE(*split_reductions(module.root(), Options()));
}

}  // namespace
}  // namespace sluice
