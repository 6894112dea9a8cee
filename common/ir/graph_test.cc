#include "common/ir/graph.h"

#include <gtest/gtest.h>

#include "common/ir/clone.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

struct GraphTest : testing::Test {
  Module module;
  Graph& graph = module.add_graph("main");
  TypeId f32 = module.intern(Type::fixed_tensor(DType::kF32, {2, 3}));
  Value& x = graph.add_input(f32, "x");
};

TEST_F(GraphTest, ReplaceAllUsesMovesOutputsToo) {
  Node& a = graph.add_node(Op::kRelu, {&x});
  Node& b = graph.add_node(Op::kAdd, {&a.output(), &a.output()});
  graph.add_output(a.output());
  graph.replace_all_uses(a.output(), x);
  EXPECT_FALSE(a.output().is_used());
  EXPECT_EQ(b.input(0), &x);
  EXPECT_EQ(b.input(1), &x);
  EXPECT_EQ(graph.outputs()[0], &x);
  EXPECT_EQ(x.uses().size(), 3u);
}

TEST_F(GraphTest, ErasingWhileIterating) {
  Value* last = &x;
  for (int i = 0; i < 10; ++i) last = &graph.add_node(Op::kRelu, {last}).output();
  graph.add_output(*last);
  int visited = 0;
  for (Node& node : graph.nodes()) {
    ++visited;
    graph.replace_all_uses(node.output(), *node.input(0));
    graph.erase_node(node);
  }
  EXPECT_EQ(visited, 10);
  EXPECT_EQ(graph.node_count(), 0u);
  EXPECT_EQ(graph.outputs()[0], &x);
}

TEST_F(GraphTest, RestoresOrderKeepingPositions) {
  Node& a = graph.add_node(Op::kRelu, {&x});
  Node& b = graph.add_node(Op::kNeg, {&x});
  Node& c = graph.add_node(Op::kAbs, {&x});
  a.set_input(0, &c.output());
  EXPECT_TRUE(graph.order_is_broken());
  ASSERT_TRUE(graph.restore_order().ok());
  EXPECT_TRUE(c.is_before(a));
  EXPECT_TRUE(b.is_before(c));
  c.set_input(0, &a.output());
  EXPECT_EQ(graph.restore_order().error().code, ErrorCode::kCycle);
}

TEST_F(GraphTest, CompactDropsTombstonesAndUnusedConstants) {
  const SegmentId two = module.make_constant(f32, std::vector<std::byte>(24));
  Value& used = graph.add_constant(two, "two");
  graph.add_constant(two, "unused");
  Node& dead = graph.add_node(Op::kRelu, {&x});
  Node& add = graph.add_node(Op::kAdd, {&x, &used});
  add.add_after(dead);
  graph.add_output(add.output());
  graph.erase_node(dead);
  module.compact();
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_EQ(graph.value_limit(), 3u);
  EXPECT_EQ(graph.first_node()->id(), 0);
  EXPECT_TRUE(graph.first_node()->after().empty());
  EXPECT_EQ(graph.first_node()->input(1)->name(), "two");
  EXPECT_EQ(graph.outputs()[0]->producer(), graph.first_node());
}

TEST_F(GraphTest, InsertionsBetweenNeighboursKeepOrder) {
  Node& first = graph.add_node(Op::kRelu, {&x});
  Node& last = graph.add_node(Op::kRelu, {&first.output()});
  Node* before = &last;
  for (int i = 0; i < 100; ++i) before = &graph.add_node(Op::kRelu, {&first.output()}, 1, before);
  for (Node* node = graph.first_node(); node->next() != nullptr; node = node->next())
    EXPECT_TRUE(node->is_before(*node->next()));
}

// This test would take minutes if the list were renumbered every few insertions.
TEST_F(GraphTest, InsertionsAtOnePlaceCostLittle) {
  constexpr int kNodes = 100000;
  for (int i = 0; i < kNodes; ++i) graph.add_node(Op::kRelu, {&x});
  Node* middle = graph.first_node();
  for (int i = 0; i < kNodes / 2; ++i) middle = middle->next();
  for (int i = 0; i < kNodes; ++i) graph.add_node(Op::kNeg, {&x}, 1, middle);
  for (Node* node = graph.first_node(); node->next() != nullptr; node = node->next())
    ASSERT_TRUE(node->is_before(*node->next()));
}

TEST_F(GraphTest, ConstantsAreSharedByContent) {
  const SegmentId a = module.make_constant(f32, std::vector<std::byte>(24));
  EXPECT_EQ(module.make_constant(f32, std::vector<std::byte>(24)), a);
  const TypeId large = module.intern(Type::fixed_tensor(DType::kF32, {1024}));
  EXPECT_EQ(module.segment(module.make_constant(large, std::vector<std::byte>(4096))).kind,
            SegmentKind::kSplat);
}

TEST_F(GraphTest, CloneIntoAnotherModuleMeansTheSame) {
  const SymbolId n = module.expressions.add_symbol({.name = "N"});
  Value& y =
      graph.add_input(module.intern(Type::tensor(
                          DType::kF32, {Dim::expression(module.expressions.symbol_expression(n))})),
                      "y");
  Graph& body = module.add_graph("then", GraphRole::kBody);
  body.add_output(body.add_constant(module.make_constant(f32, std::vector<std::byte>(24))));
  Node& node = graph.add_node(Op::kIf, {&y});
  node.set_attribute("then_branch", GraphRef{body.id()});
  graph.add_output(node.output());
  Module other;
  ModuleMapper mapper(module, other);
  Graph& copy = mapper.clone(graph);
  EXPECT_EQ(graph_digest(copy), graph_digest(graph));
  EXPECT_EQ(copy.first_node()->get(BodyAttribute{"then_branch"})->owner(), copy.first_node());
  copy.first_node()->set_op(Op::kLoop);
  EXPECT_NE(graph_digest(copy), graph_digest(graph));
}

TEST_F(GraphTest, CompactCarriesSymbols) {
  Value& gone = graph.add_input(f32, "gone");
  Value& kept = graph.add_input(f32, "kept");
  module.expressions.add_symbol({"A", SymbolOrigin::kInputDim, graph.id(), gone.id()});
  module.expressions.add_symbol({"B", SymbolOrigin::kInputDim, graph.id(), kept.id()});
  graph.remove_input(1);
  module.compact();
  EXPECT_EQ(module.expressions.symbol(0).graph, -1);
  EXPECT_EQ(module.expressions.symbol(1).value, 1);
}

// An expression that nothing uses loses its graph; compacting again leaves it as it is.
TEST(ModuleTest, UnusedExpressionsSurviveCompaction) {
  Module module;
  module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {1}));
  const SegmentId constant = module.make_constant(type, std::vector<std::byte>(4));
  Graph& body = module.add_graph("body", GraphRole::kExpression);
  Node& node = body.add_node(Op::kNeg, {&body.add_input(type)});
  node.output().set_type(type);
  body.add_output(node.output());
  const SegmentId expression = module.make_expression(type, body.id(), {constant});
  module.compact();
  EXPECT_EQ(module.segment(expression).graph, -1);
  module.compact();
  EXPECT_EQ(module.segment(expression).graph, -1);
}

}  // namespace
}  // namespace sluice
