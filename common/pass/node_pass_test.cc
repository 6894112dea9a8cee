#include "common/pass/node_pass.h"

#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

std::vector<std::string> visited;

Result<bool> record(Node& node, NodeVisits&, const Options&) {
  visited.push_back(node.name());
  return false;
}

Result<bool> revisit_forever(Node& node, NodeVisits& visits, const Options&) {
  visited.push_back(node.name());
  visits.revisit_now(node);
  return true;
}

Result<bool> revisit_first_later(Node& node, NodeVisits& visits, const Options&) {
  visited.push_back(node.name());
  if (node.name() == "a" && visited.size() == 1) visits.revisit_later(node);
  return false;
}

Result<bool> erase_relu(Node& node, NodeVisits&, const Options&) {
  if (node.op() != Op::kRelu) return false;
  node.graph().replace_all_uses(node.output(), *node.input(0));
  node.graph().erase_node(node);
  return true;
}

struct NodePassTest : testing::Test {
  void SetUp() override { visited.clear(); }
  Node& add(const char* name, Op op, const std::vector<Value*>& inputs) {
    Node& node = graph.add_node(op, inputs);
    node.set_name(name);
    return node;
  }
  Module module;
  Graph& graph = module.add_graph("main");
  Value& x = graph.add_input(0, "x");
};

TEST_F(NodePassTest, BreadthFirstAfterAllProducers) {
  Node& a = add("a", Op::kRelu, {&x});
  Node& b = add("b", Op::kRelu, {&a.output()});
  Node& c = add("c", Op::kAdd, {&b.output(), &x});
  Node& d = add("d", Op::kNeg, {&x});
  graph.add_output(c.output());
  graph.add_output(d.output());
  const NodePass passes[] = {{"record", record}};
  ASSERT_TRUE(run_node_passes(graph, passes, {}).ok());
  EXPECT_EQ(visited, (std::vector<std::string>{"a", "d", "b", "c"}));
}

TEST_F(NodePassTest, RepassingEndsAtTenVisitsPerNode) {
  add("a", Op::kRelu, {&x});
  add("b", Op::kRelu, {&x});
  const NodePass passes[] = {{"forever", revisit_forever}};
  EXPECT_TRUE(run_node_passes(graph, passes, {}).value());
  EXPECT_EQ(visited.size(), 20u);
}

TEST_F(NodePassTest, LaterMeansAfterTheRound) {
  add("a", Op::kRelu, {&x});
  add("b", Op::kRelu, {&x});
  const NodePass passes[] = {{"later", revisit_first_later}};
  ASSERT_TRUE(run_node_passes(graph, passes, {}).ok());
  EXPECT_EQ(visited, (std::vector<std::string>{"a", "b", "a"}));
}

TEST_F(NodePassTest, ErasedNodesSkipTheOtherPasses) {
  Node& a = add("a", Op::kRelu, {&x});
  Node& b = add("b", Op::kNeg, {&a.output()});
  graph.add_output(b.output());
  const NodePass passes[] = {{"erase", erase_relu}, {"record", record}};
  EXPECT_TRUE(run_node_passes(graph, passes, {}).value());
  EXPECT_EQ(visited, (std::vector<std::string>{"b"}));
}

TEST_F(NodePassTest, OwnersOfBodiesAreVisitedBeforeAndAfter) {
  Graph& body = module.add_graph("then", GraphRole::kBody);
  body.add_output(body.add_node(Op::kNeg, {}, 1).output());
  body.first_node()->set_name("inner");
  Node& owner = add("if", Op::kIf, {&x});
  owner.set(attributes::If::then_branch, GraphRef{body.id()});
  graph.add_output(owner.output());
  const NodePass passes[] = {{"record", record}};
  ASSERT_TRUE(run_node_passes(graph, passes, {}).ok());
  EXPECT_EQ(visited, (std::vector<std::string>{"if", "inner", "if"}));
}

}  // namespace
}  // namespace sluice
