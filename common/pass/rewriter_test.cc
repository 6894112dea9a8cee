// Scenarios 56 and 57 of the catalogue.
#include "common/pass/rewriter.h"

#include <gtest/gtest.h>

#include "common/text/text.h"

namespace sluice {
namespace {

Module parsed_module(const std::string& body) {
  auto module = parse_module("sluice 1 typed\n" + body, "test");
  EXPECT_TRUE(module.ok()) << (module ? "" : error_text(module.error()));
  return module ? std::move(module).value() : Module();
}

Value& named(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values()) {
    if (!value.is_erased() && value.name() == name) return const_cast<Value&>(value);
  }
  ADD_FAILURE() << "no value " << name;
  return *graph.inputs()[0];
}

Node& maker(const Graph& graph, const std::string& name) { return *named(graph, name).producer(); }

constexpr char kChain[] = R"(graph @main(%x: f32[2]) -> (%y, %z) {
  %a: f32[2] = Exp(%x) from "a"
  %b: f32[2] = Relu(%a) from "b"
  %y: f32[2] = Neg(%b) from "y"
  %z: f32[2] = Abs(%b) from "z"
}
)";

Boundary exp_relu(const Graph& graph) {
  return {{&maker(graph, "a"), &maker(graph, "b")}, {&named(graph, "x")}, {&named(graph, "b")}};
}

TEST(Scenario56, ReplacesAndKeepsEveryReader) {
  Module module = parsed_module(kChain);
  Module other = parsed_module(
      "graph @r(%u: f32[2]) -> (%v) {\n  %t: f32[2] = Sqrt(%u)\n  %v: f32[2] = Tanh(%t)\n}\n");
  RewriteStatistics statistics{.pass = "test"};
  const auto made = replace(exp_relu(module.root()), other.root(), statistics);
  ASSERT_TRUE(made.ok()) << error_text(made.error());
  EXPECT_EQ(made->size(), 2u);
  module.compact();
  EXPECT_EQ(print_module(module), R"(sluice 1 typed
graph @main(%x: f32[2]) -> (%y, %z) {
  %t: f32[2] = Sqrt(%x) from "a", "b"
  %b: f32[2] = Tanh(%t) from "a", "b"
  %y: f32[2] = Neg(%b) from "y"
  %z: f32[2] = Abs(%b) from "z"
}
)");
  EXPECT_EQ(statistics.matches, 1u);
  EXPECT_EQ(statistics.effects, 1u);
}

void expect_rejected(const std::string& replacement, ErrorCode code) {
  Module module = parsed_module(kChain);
  const std::string before = print_module(module);
  Module other = parsed_module(replacement);
  RewriteStatistics statistics{.pass = "test"};
  const auto made = replace(exp_relu(module.root()), other.root(), statistics);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, code);
  EXPECT_EQ(print_module(module), before);
  EXPECT_EQ(statistics.effects, 0u);
}

TEST(Scenario56, OtherNumbersOfInputsOrOutputsAreRejected) {
  expect_rejected("graph @r(%u: f32[2], %w: f32[2]) -> (%v) {\n  %v: f32[2] = Add(%u, %w)\n}\n",
                  ErrorCode::kBadGraph);
  expect_rejected(
      "graph @r(%u: f32[2]) -> (%v, %w) {\n  %v: f32[2] = Exp(%u)\n  %w: f32[2] = Exp(%u)\n}\n",
      ErrorCode::kBadGraph);
}

TEST(Scenario56, CyclicReplacementIsRejected) {
  Module module = parsed_module(kChain);
  Module other;
  Graph& replacement = other.add_graph("r");
  Node& first = replacement.add_node(Op::kExp, {&replacement.add_input(0)});
  Node& second = replacement.add_node(Op::kExp, {&first.output()});
  first.set_input(0, &second.output());
  replacement.add_output(second.output());
  RewriteStatistics statistics{.pass = "test"};
  const auto made = replace(exp_relu(module.root()), replacement, statistics);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kBadGraph);
}

TEST(Scenario56, BoundaryOfTwoGraphsIsRejected) {
  Module module = parsed_module(kChain);
  Module other = parsed_module(kChain);
  Boundary boundary = exp_relu(module.root());
  boundary.nodes[0] = &maker(other.root(), "a");
  RewriteStatistics statistics{.pass = "test"};
  Module replacement =
      parsed_module("graph @r(%u: f32[2]) -> (%v) {\n  %v: f32[2] = Tanh(%u)\n}\n");
  EXPECT_FALSE(replace(boundary, replacement.root(), statistics).ok());
}

TEST(Scenario56, NoPassNameIsRejected) {
  Module module = parsed_module(kChain);
  Module other = parsed_module("graph @r(%u: f32[2]) -> (%v) {\n  %v: f32[2] = Tanh(%u)\n}\n");
  RewriteStatistics statistics;
  const auto made = replace(exp_relu(module.root()), other.root(), statistics);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kInternal);
}

// %b is read outside and is not an output of the boundary.
TEST(Scenario56, InteriorReadOutsideIsRejected) {
  Module module = parsed_module(kChain);
  const Boundary boundary{
      {&maker(module.root(), "a"), &maker(module.root(), "b"), &maker(module.root(), "y")},
      {&named(module.root(), "x")},
      {&named(module.root(), "y")}};
  EXPECT_NE(boundary_obstacle(boundary).find("is read outside"), std::string::npos)
      << boundary_obstacle(boundary);
}

TEST(Rewriter, ModelOutputsKeepTheirNamesWhenTheyBecomeInputs) {
  Module module = parsed_module("graph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Relu(%x)\n}\n");
  Module other = parsed_module("graph @r(%u: f32[2]) -> (%u) {\n}\n");
  RewriteStatistics statistics{.pass = "test"};
  const Boundary boundary{
      {&maker(module.root(), "y")}, {&named(module.root(), "x")}, {&named(module.root(), "y")}};
  ASSERT_TRUE(replace(boundary, other.root(), statistics).ok());
  module.compact();
  EXPECT_EQ(print_module(module),
            "sluice 1 typed\ngraph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Identity(%x)\n}\n");
}

TEST(Rewriter, CarriesControlEdges) {
  Module module = parsed_module(R"(graph @main(%x: f32[2]) -> (%p, %b, %q) {
  %p: f32[2] = Exp(%x)
  %a: f32[2] = Abs(%x) after %p
  %b: f32[2] = Relu(%a)
  %q: f32[2] = Neg(%x) after %b
}
)");
  Module other = parsed_module("graph @r(%u: f32[2]) -> (%v) {\n  %v: f32[2] = Tanh(%u)\n}\n");
  RewriteStatistics statistics{.pass = "test"};
  ASSERT_TRUE(replace(exp_relu(module.root()), other.root(), statistics).ok());
  module.compact();
  EXPECT_EQ(print_module(module), R"(sluice 1 typed
graph @main(%x: f32[2]) -> (%p, %b, %q) {
  %p: f32[2] = Exp(%x)
  %b: f32[2] = Tanh(%x) after %p
  %q: f32[2] = Neg(%x) after %b
}
)");
}

// %a and %b surround %c, which runs after %a, and before %b by a value or by a control edge.
TEST(Scenario57, CycleThroughAControlEdge) {
  const Module module = parsed_module(R"(graph @main(%x: f32[2]) -> (%b, %c) {
  %a: f32[2] = Exp(%x)
  %c: f32[2] = Neg(%x) after %a
  %b: f32[2] = Relu(%a) after %c
}
)");
  std::string reason;
  EXPECT_FALSE(can_fuse({&maker(module.root(), "a"), &maker(module.root(), "b")}, reason));
  EXPECT_NE(reason.find("cycle"), std::string::npos) << reason;
  EXPECT_TRUE(can_fuse(
      {&maker(module.root(), "a"), &maker(module.root(), "c"), &maker(module.root(), "b")}, reason))
      << reason;
}

TEST(Scenario57, CycleThroughValuesOutside) {
  const Module module = parsed_module(R"(graph @main(%x: f32[2]) -> (%b) {
  %a: f32[2] = Exp(%x)
  %c: f32[2] = Neg(%a)
  %d: f32[2] = Abs(%c)
  %b: f32[2] = Add(%a, %d)
}
)");
  std::string reason;
  EXPECT_FALSE(can_fuse({&maker(module.root(), "a"), &maker(module.root(), "b")}, reason));
  EXPECT_NE(reason.find("cycle"), std::string::npos) << reason;
}

TEST(Scenario57, ChainWithoutOneAndNothingAtAll) {
  const Module module = parsed_module(kChain);
  std::string reason;
  EXPECT_TRUE(can_fuse(
      {&maker(module.root(), "a"), &maker(module.root(), "b"), &maker(module.root(), "y")}, reason))
      << reason;
  EXPECT_FALSE(can_fuse({}, reason));
  EXPECT_EQ(reason, "there are no nodes");
  EXPECT_FALSE(can_fuse({nullptr}, reason));
  EXPECT_EQ(reason, "there are no nodes");
}

TEST(Scenario57, OtherStreamLabelOrStageLevel) {
  const Module module = parsed_module(R"(graph @main(%x: f32[2]) -> (%c) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Relu(%a) placement {stream_label = "left"}
  %c: f32[2] = Relu(%b) placement {stream_label = "left", stage_level = 1}
}
)");
  std::string reason;
  EXPECT_FALSE(can_fuse({&maker(module.root(), "a"), &maker(module.root(), "b")}, reason));
  EXPECT_NE(reason.find("stream label"), std::string::npos) << reason;
  EXPECT_FALSE(can_fuse({&maker(module.root(), "b"), &maker(module.root(), "c")}, reason));
  EXPECT_NE(reason.find("stage level"), std::string::npos) << reason;
}

}  // namespace
}  // namespace sluice
