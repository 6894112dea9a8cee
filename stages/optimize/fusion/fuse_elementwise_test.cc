#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <regex>

#include "common/eval/eval.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/text/text.h"
#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

// Every Fused node of the result must be one that loops can compute.
void expect_lowerable(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op() != Op::kFused) continue;
    const auto lowered = loop::lower_node(node);
    EXPECT_TRUE(lowered.ok()) << error_text(lowered.error());
  }
}

void expect_groups(const std::string& before, const std::string& after) {
  expect_rewrite(fuse_elementwise, before, after);
  auto module = parse_module("sluice 1 typed\n" + after, "test");
  ASSERT_TRUE(module.ok()) << error_text(module.error());
  expect_lowerable(module->root());
}

// The results "%z: f32[4], %y: f32[4]" of nodes, for the names "%z, %y".
std::string typed(const std::string& names, const std::string& nodes) {
  std::string results;
  for (size_t at = 0; at < names.size(); at = names.find('%', at + 1)) {
    const std::string name = names.substr(at, names.find(',', at) - at);
    const size_t begin = nodes.find("  " + name + ": ") + 2;
    results += (at == 0 ? "" : ", ") + nodes.substr(begin, nodes.find(']', begin) + 1 - begin);
  }
  return results;
}

// All nodes become one, which reads the inputs in their order.
void expect_one_group(const std::string& inputs, const std::string& nodes,
                      const std::string& outputs = "%y", const std::string& symbols = "") {
  const std::string operands = std::regex_replace(inputs, std::regex(R"(: \w+\[[^\]]*\])"), "");
  expect_groups(
      symbols + graph_of(inputs, nodes, outputs),
      symbols +
          graph_of(inputs,
                   "  " + typed(outputs, nodes) + " = Fused(" + operands + ") {body = @y}\n",
                   outputs) +
          body_of(inputs, nodes, "y", outputs));
}

// A scalar becomes the body's own constant; other constants stay outside.
TEST(FuseElementwise, AChainWithAValueThatIsReadTwice) {
  const std::string b =
      "  %b = constant f32[16] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\n";
  const std::string nodes = R"(  %half = constant f32[] [0.5]
  %0: f32[4, 16] = Add(%x, %b)
  %1: f32[4, 16] = Tanh(%0)
  %2: f32[4, 16] = Mul(%0, %1)
  %y: f32[4, 16] = Mul(%2, %half)
)";
  expect_groups(graph_of("%x: f32[4, 16]", b + nodes),
                graph_of("%x: f32[4, 16]", b + "  %y: f32[4, 16] = Fused(%x, %b) {body = @y}\n") +
                    body_of("%x: f32[4, 16], %b: f32[16]", nodes));
}

TEST(FuseElementwise, AValueThatAnotherNodeReadsEndsAGroup) {
  expect_groups(R"(graph @main(%x: f32[4, 16], %w: f32[16, 16]) -> (%y) {
  %0: f32[4, 16] = Neg(%x)
  %1: f32[4, 16] = Exp(%0)
  %2: f32[4, 16] = MatMul(%1, %w)
  %3: f32[4, 16] = Abs(%1)
  %y: f32[4, 16] = Add(%2, %3)
}
)",
                R"(graph @main(%x: f32[4, 16], %w: f32[16, 16]) -> (%y) {
  %0: f32[4, 16] = Fused(%x) {body = @fused}
  %1: f32[4, 16] = MatMul(%0, %w)
  %y: f32[4, 16] = Fused(%0, %1) {body = @y}
}
graph @fused(%x: f32[4, 16]) -> (%1) fused {
  %0: f32[4, 16] = Neg(%x)
  %1: f32[4, 16] = Exp(%0)
}
graph @y(%0: f32[4, 16], %1: f32[4, 16]) -> (%y) fused {
  %2: f32[4, 16] = Abs(%0)
  %y: f32[4, 16] = Add(%1, %2)
}
)");
}

TEST(FuseElementwise, OutputsOfTheModelStayVisible) {
  expect_one_group("%x: f32[4, 16]", R"(  %0: f32[4, 16] = Neg(%x)
  %z: f32[4, 16] = Exp(%0)
  %y: f32[4, 16] = Abs(%z)
)",
                   "%z, %y");
}

TEST(FuseElementwise, ResultsOfKeptNodesStayVisible) {
  expect_groups(R"(graph @main(%x: f32[4, 16]) -> (%y) {
  %0: f32[4, 16] = Neg(%x) placement {keep}
  %y: f32[4, 16] = Abs(%0)
}
)",
                R"(graph @main(%x: f32[4, 16]) -> (%y) {
  %0: f32[4, 16], %y: f32[4, 16] = Fused(%x) {body = @y} placement {keep}
}
graph @y(%x: f32[4, 16]) -> (%0, %y) fused {
  %0: f32[4, 16] = Neg(%x)
  %y: f32[4, 16] = Abs(%0)
}
)");
}

TEST(FuseElementwise, ASoftmaxWithWhatIsCheapBeforeItAndAllAfterIt) {
  expect_one_group("%x: f32[4, 16], %mask: f32[1, 16]", R"(  %half = constant f32[] [0.5]
  %0: f32[4, 16] = Mul(%x, %half)
  %1: f32[4, 16] = Add(%0, %mask)
  %2: f32[4, 16] = Softmax(%1) {axis = -1}
  %3: f32[4, 16] = Mul(%2, %half)
  %y: f32[4, 16] = Add(%3, %x)
)");
}

// The loops of a softmax read their operand several times, from scratch where a row fits.
TEST(FuseElementwise, WhatIsDearBeforeASoftmaxOfShortRows) {
  expect_one_group("%x: f32[4, 16]", R"(  %0: f32[4, 16] = Exp(%x)
  %y: f32[4, 16] = Softmax(%0) {axis = -1}
)");
}

TEST(FuseElementwise, WhatIsDearBeforeASoftmaxOfLongRowsStaysApart) {
  for (const std::string row : {"5000", "N"}) {
    expect_unchanged(fuse_elementwise, fmt::format(R"(symbol N = dim(@main, %x, 1) in [1, *]
graph @main(%x: f32[4, {0}], %n: f32[4, N]) -> (%y) {{
  %0: f32[4, {0}] = Exp(%x)
  %y: f32[4, {0}] = Softmax(%0) {{axis = -1}}
}}
)",
                                                   row));
  }
}

// Its axes become constants of the body.
TEST(FuseElementwise, AReductionReadsOnce) {
  expect_one_group("%x: f32[16, 4, 16]", R"(  %a = constant i64[2] [1, 2]
  %0: f32[16, 4, 16] = Exp(%x)
  %1: f32[16] = ReduceSum(%0, %a) {keepdims = 0}
  %y: f32[16] = Log(%1)
)");
}

TEST(FuseElementwise, TwoNodesWithLoopsAreTwoGroups) {
  expect_groups(R"(graph @main(%x: f32[16, 4, 16]) -> (%y) {
  %0: f32[16, 4, 16] = Neg(%x)
  %1: f32[16, 4, 16] = Softmax(%0) {axis = -1}
  %2: f32[16, 4, 16] = Abs(%1)
  %3: f32[16, 4, 16] = Softmax(%2) {axis = 1}
  %y: f32[16, 4, 16] = Neg(%3)
}
)",
                R"(graph @main(%x: f32[16, 4, 16]) -> (%y) {
  %0: f32[16, 4, 16] = Fused(%x) {body = @fused}
  %y: f32[16, 4, 16] = Fused(%0) {body = @y}
}
graph @fused(%x: f32[16, 4, 16]) -> (%1) fused {
  %0: f32[16, 4, 16] = Neg(%x)
  %1: f32[16, 4, 16] = Softmax(%0) {axis = -1}
}
graph @y(%0: f32[16, 4, 16]) -> (%y) fused {
  %1: f32[16, 4, 16] = Abs(%0)
  %2: f32[16, 4, 16] = Softmax(%1) {axis = 1}
  %y: f32[16, 4, 16] = Neg(%2)
}
)");
}

TEST(FuseElementwise, AReductionIsNotReadByABroadcast) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 16]) -> (%y) {
  %a = constant i64[1] [1]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %y: f32[4, 16] = Sub(%x, %0)
}
)");
}

TEST(FuseElementwise, AVisibleValueThatDoesNotDependOnTheLoops) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 16]) -> (%z, %y) {
  %a = constant i64[1] [1]
  %z: f32[4, 16] = Neg(%x)
  %y: f32[4] = ReduceSum(%z, %a) {keepdims = 0}
}
)");
}

// A residual sum is stored on the way to the normalisation that reads it; later nodes read it too.
TEST(FuseElementwise, AVisibleRowOfANormalization) {
  const std::string inputs = "%x: f32[4, 16], %r: f32[4, 16], %s: f32[16], %w: f32[16, 16]";
  const std::string group = R"(  %0: f32[4, 16] = Add(%x, %r)
  %1: f32[4, 16] = LayerNormalization(%0, %s) {axis = -1}
)";
  const std::string remainder = R"(  %2: f32[4, 16] = MatMul(%1, %w)
  %y: f32[4, 16] = Sub(%2, %0)
)";
  expect_groups(
      graph_of(inputs, group + remainder),
      graph_of(inputs, "  %0: f32[4, 16], %1: f32[4, 16] = Fused(%x, %r, %s) {body = @fused}\n" +
                           remainder) +
          body_of("%x: f32[4, 16], %r: f32[4, 16], %s: f32[16]", group, "fused", "%0, %1"));
}

// Their readers come after the group.
TEST(FuseElementwise, SeveralResults) {
  const std::string inputs = "%x: f32[4, 16], %w: f32[16, 16]";
  const std::string group = R"(  %0: f32[4, 16] = Tanh(%x)
  %1: f32[4, 16] = Exp(%0)
)";
  const std::string remainder = R"(  %2: f32[4, 16] = MatMul(%1, %w)
  %3: f32[4, 16] = MatMul(%0, %w)
  %y: f32[4, 16] = Sub(%2, %3)
)";
  expect_groups(graph_of(inputs, group + remainder),
                graph_of(inputs, "  %0: f32[4, 16], %1: f32[4, 16] = Fused(%x) {body = @fused}\n" +
                                     remainder) +
                    body_of("%x: f32[4, 16]", group, "fused", "%0, %1"));
}

// Rotary positions: every part of the result is computed from its part of the operand.
TEST(FuseElementwise, SlicesAndAConcat) {
  expect_one_group("%x: f32[4, 16], %s: f32[16]", R"(  %a = constant i64[1] [0]
  %b = constant i64[1] [8]
  %one = constant i64[1] [1]
  %c = constant i64[1] [16]
  %0: f32[4, 8] = Slice(%x, %a, %b, %one)
  %1: f32[4, 8] = Slice(%x, %b, %c, %one)
  %2: f32[4, 8] = Neg(%1)
  %3: f32[4, 16] = Concat(%2, %0) {axis = 1}
  %y: f32[4, 16] = Mul(%3, %s)
)");
}

// A gate: both halves are read where they lie.
TEST(FuseElementwise, ASplitAndAPad) {
  expect_one_group("%x: f32[4, 16]", R"(  %p = constant i64[4] [0, 1, 0, 1]
  %0: f32[4, 8], %1: f32[4, 8] = Split(%x) {axis = 1}
  %2: f32[4, 8] = Sigmoid(%0)
  %3: f32[4, 8] = Mul(%2, %1)
  %4: f32[4, 10] = Pad(%3, %p)
  %y: f32[4, 10] = Neg(%4)
)");
}

// Every other element of a line is no vector.
TEST(FuseElementwise, ASliceWithGapsStaysApart) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 32]) -> (%y) {
  %a = constant i64[1] [0]
  %b = constant i64[1] [32]
  %one = constant i64[1] [1]
  %two = constant i64[1] [2]
  %0: f32[4, 16] = Slice(%x, %a, %b, %one, %two)
  %y: f32[4, 16] = Exp(%0)
}
)");
}

TEST(FuseElementwise, AConcatThatMayAppendToAStateStaysAlone) {
  const auto graph = [](const std::string& option) {
    return option + R"(symbol P = dim(@main, %past, 0) in [0, 8]
graph @main(%x: f32[4, 16], %past: f32[P, 16]) -> (%all, %y) {
  %all: f32[P + 4, 16] = Concat(%past, %x) {axis = 0}
  %y: f32[P + 4, 16] = Neg(%all)
}
)";
  };
  expect_rewrite(fuse_elementwise, graph("option \"state\" = \"all=past\"\n"), graph(""));
  expect_rewrite(fuse_elementwise, graph(""), R"(symbol P = dim(@main, %past, 0) in [0, 8]
graph @main(%x: f32[4, 16], %past: f32[P, 16]) -> (%all, %y) {
  %all: f32[P + 4, 16], %y: f32[P + 4, 16] = Fused(%past, %x) {body = @y}
}
graph @y(%past: f32[P, 16], %x: f32[4, 16]) -> (%all, %y) fused {
  %all: f32[P + 4, 16] = Concat(%past, %x) {axis = 0}
  %y: f32[P + 4, 16] = Neg(%all)
}
)");
}

TEST(FuseElementwise, ABroadcastValueThatIsCheap) {
  expect_groups(R"(graph @main(%x: f32[4, 16], %s: f32[16]) -> (%y) {
  %half = constant f32[] [0.5]
  %0: f32[16] = Mul(%s, %half)
  %y: f32[4, 16] = Add(%x, %0)
}
)",
                R"(graph @main(%x: f32[4, 16], %s: f32[16]) -> (%y) {
  %y: f32[4, 16] = Fused(%s, %x) {body = @y}
}
graph @y(%s: f32[16], %x: f32[4, 16]) -> (%y) fused {
  %half = constant f32[] [0.5]
  %0: f32[16] = Mul(%s, %half)
  %y: f32[4, 16] = Add(%x, %0)
}
)");
}

TEST(FuseElementwise, ABroadcastValueThatIsDearStaysApart) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 16], %s: f32[16]) -> (%y) {
  %0: f32[16] = Exp(%s)
  %y: f32[4, 16] = Add(%x, %0)
}
)");
}

TEST(FuseElementwise, AReshapeBetween) {
  expect_one_group("%x: f32[4, 16]", R"(  %s = constant i64[3] [4, 2, 8]
  %0: f32[4, 16] = Neg(%x)
  %1: f32[4, 2, 8] = Reshape(%0, %s)
  %y: f32[4, 2, 8] = Exp(%1)
)");
}

TEST(FuseElementwise, AReshapeAtTheEdgeIsAView) {
  expect_groups(R"(graph @main(%x: f32[4, 16]) -> (%y) {
  %s = constant i64[3] [4, 2, 8]
  %t = constant i64[2] [4, 16]
  %0: f32[4, 2, 8] = Reshape(%x, %s)
  %1: f32[4, 2, 8] = Neg(%0)
  %2: f32[4, 2, 8] = Exp(%1)
  %y: f32[4, 16] = Reshape(%2, %t)
}
)",
                R"(graph @main(%x: f32[4, 16]) -> (%y) {
  %s = constant i64[3] [4, 2, 8]
  %t = constant i64[2] [4, 16]
  %0: f32[4, 2, 8] = Reshape(%x, %s)
  %1: f32[4, 2, 8] = Fused(%0) {body = @fused}
  %y: f32[4, 16] = Reshape(%1, %t)
}
graph @fused(%0: f32[4, 2, 8]) -> (%2) fused {
  %1: f32[4, 2, 8] = Neg(%0)
  %2: f32[4, 2, 8] = Exp(%1)
}
)");
}

TEST(FuseElementwise, APermutationOfWholeRows) {
  expect_one_group("%x: f32[4, 2, 8]", R"(  %0: f32[4, 2, 8] = Exp(%x)
  %1: f32[2, 4, 8] = Transpose(%0) {perm = [1, 0, 2]}
  %y: f32[2, 4, 8] = Neg(%1)
)");
}

TEST(FuseElementwise, APermutationOfTheLastAxisStaysApart) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 2, 8]) -> (%y) {
  %0: f32[4, 2, 8] = Exp(%x)
  %1: f32[4, 8, 2] = Transpose(%0) {perm = [0, 2, 1]}
  %y: f32[4, 8, 2] = Neg(%1)
}
)");
}

TEST(FuseElementwise, OtherPlacementsAndControlEdges) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[4, 16]) -> (%y, %z) {
  %0: f32[4, 16] = Exp(%x) placement {stream_label = "left"}
  %y: f32[4, 16] = Neg(%0)
  %1: f32[4, 16] = Exp(%x)
  %z: f32[4, 16] = Abs(%1) after %0
}
)");
}

TEST(FuseElementwise, SizesAreLeftToTheHost) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: i64[4]) -> (%y) {
  %one = constant i64[] [1]
  %0: i64[4] = Add(%x, %one)
  %y: i64[4] = Mul(%0, %0)
}
)");
}

TEST(FuseElementwise, SymbolicSizes) {
  expect_one_group("%x: f32[N, 16], %b: f32[16]", R"(  %0: f32[N, 16] = Add(%x, %b)
  %1: f32[N, 16] = Softmax(%0) {axis = -1}
  %y: f32[N, 16] = Mul(%1, %x)
)",
                   "%y", "symbol N = dim(@main, %x, 0) in [1, *]\n");
}

TEST(FuseElementwise, AnotherTypeOfHalfFloatsAndACast) {
  expect_one_group("%x: f16[4, 16]", R"(  %0: f16[4, 16] = Neg(%x)
  %1: f32[4, 16] = Cast(%0) {to = 1}
  %y: f32[4, 16] = Exp(%1)
)");
}

TypeId matrix(Module& module) { return module.intern(Type::fixed_tensor(DType::kF32, {4, 16})); }

Value& append(Graph& graph, Op op, const std::vector<Value*>& inputs) {
  Value& result = graph.add_node(op, inputs).output();
  result.set_type(matrix(graph.module()));
  return result;
}

size_t count_fused(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op() == Op::kFused ? 1 : 0;
  return count;
}

TEST(FuseElementwise, AtMost64Nodes) {
  Module module;
  Graph& graph = module.add_graph("main");
  Value* value = &graph.add_input(matrix(module), "x");
  for (int i = 0; i < 130; ++i) value = &append(graph, Op::kTanh, {value});
  graph.add_output(*value);
  ASSERT_TRUE(*fuse_elementwise(graph, {}));
  EXPECT_EQ(graph.node_count(), 3u);
  for (const Node& node : graph.nodes())
    EXPECT_LE(node.get(attributes::Fused::body)->node_count(), 64u);
}

TEST(FuseElementwise, AtMost8Inputs) {
  Module module;
  Graph& graph = module.add_graph("main");
  Value* value = &graph.add_input(matrix(module), "x");
  for (int i = 0; i < 20; ++i)
    value = &append(graph, Op::kAdd, {value, &graph.add_input(matrix(module))});
  graph.add_output(*value);
  ASSERT_TRUE(*fuse_elementwise(graph, {}));
  EXPECT_EQ(graph.node_count(), 3u);
  for (const Node& node : graph.nodes()) EXPECT_LE(node.input_count(), 8u);
}

// A network of elementwise nodes, reductions and matrix products, joined at random.
Module random_network(uint32_t seed, int nodes) {
  std::mt19937 random(seed);
  const auto pick = [&](size_t count) { return random() % count; };
  Module module;
  Graph& graph = module.add_graph("main");
  std::vector<Value*> values = {&graph.add_input(matrix(module), "x"),
                                &graph.add_input(matrix(module), "z")};
  std::vector<std::byte> bytes(16 * 16 * sizeof(float));
  for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
    const float element = static_cast<float>(pick(100)) / 500;
    std::memcpy(bytes.data() + i, &element, sizeof(float));
  }
  Value& weight = graph.add_constant(
      module.make_constant(module.intern(Type::fixed_tensor(DType::kF32, {16, 16})), bytes));
  constexpr Op kOne[] = {Op::kTanh, Op::kNeg, Op::kSigmoid, Op::kSoftmax, Op::kAbs, Op::kErf};
  constexpr Op kTwo[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kMatMul};
  // Turns the halves of every line around: Concat(Slice, Slice).
  const auto turned = [&](Value& x) -> Value& {
    const auto numbers = [&](int64_t number) {
      const TypeId type = module.intern(Type::fixed_tensor(DType::kI64, {1}));
      std::vector<std::byte> bytes(sizeof(number));
      std::memcpy(bytes.data(), &number, sizeof(number));
      return &graph.add_constant(module.make_constant(type, std::move(bytes)));
    };
    std::vector<Value*> halves;
    for (const int64_t start : {8, 0}) {
      Node& half = graph.add_node(Op::kSlice, {&x, numbers(start), numbers(start + 8), numbers(1)});
      half.output().set_type(module.intern(Type::fixed_tensor(DType::kF32, {4, 8})));
      halves.push_back(&half.output());
    }
    Value& joined = append(graph, Op::kConcat, halves);
    joined.producer()->set(attributes::Concat::axis, int64_t{1});
    return joined;
  };
  for (int i = 0; i < nodes; ++i) {
    const auto any = [&] { return values[values.size() - 1 - pick(std::min<size_t>(6, i + 2))]; };
    if (pick(8) == 0) {
      values.push_back(&turned(*any()));
      continue;
    }
    const bool two = pick(2) == 0;
    const Op op = two ? kTwo[pick(std::size(kTwo))] : kOne[pick(std::size(kOne))];
    Value* const first = any();
    Value* const second = op == Op::kMatMul ? &weight : any();
    values.push_back(&append(graph, op, two ? std::vector{first, second} : std::vector{first}));
  }
  for (int i = 0; i < 3; ++i) graph.add_output(*values[values.size() - 1 - pick(6)]);
  return module;
}

class FuseElementwiseAtRandom : public testing::TestWithParam<uint32_t> {};

// What is computed of constants alone, and too large to be folded, stays: a Fused node has an
// input.
TEST(FuseElementwise, NodesWithoutOperandsStay) {
  expect_unchanged(fuse_elementwise, R"(graph @main(%x: f32[2]) -> (%y, %z) {
  %one = constant f32[] [1]
  %shape = constant i64[2] [4, 8]
  %0: f32[4, 8] = Expand(%one, %shape)
  %y: f32[4, 8] = Tanh(%0)
  %z: f32[2] = Neg(%x)
}
)");
}

TEST_P(FuseElementwiseAtRandom, MeansTheSameAndCanBeLowered) {
  Module before = random_network(GetParam(), 60), module = random_network(GetParam(), 60);
  const auto changed = fuse_elementwise(module.root(), {});
  ASSERT_TRUE(changed.ok() && *changed);
  EXPECT_GT(count_fused(module.root()), 0u);
  ASSERT_TRUE(module.root().restore_order().ok());
  expect_lowerable(module.root());
  std::vector<EvalValue> inputs;
  for (int i = 0; i < 2; ++i) {
    Tensor tensor = make_tensor(DType::kF32, {4, 16});
    for (size_t k = 0; k < 64; ++k) tensor.as<float>()[k] = 0.03f * static_cast<float>(k) - 1;
    inputs.push_back(EvalValue::of(std::move(tensor)));
  }
  const auto wanted = evaluate_graph(before.root(), inputs),
             got = evaluate_graph(module.root(), inputs);
  ASSERT_TRUE(wanted.ok() && got.ok());
  for (size_t i = 0; i < wanted->size(); ++i) {
    EXPECT_EQ(wanted->at(i).tensor->bytes, got->at(i).tensor->bytes) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FuseElementwiseAtRandom, testing::Range(0u, 40u));

}  // namespace
}  // namespace sluice
