#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "common/eval/testing/node_test.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

using testing::ElementsAre;

struct GraphEvalTest : testing::Test {
  Module module;
  TypeId two = module.intern(Type::fixed_tensor(DType::kF32, {2}));
  TypeId flag = module.intern(Type::fixed_tensor(DType::kBool, {}));
  TypeId count = module.intern(Type::fixed_tensor(DType::kI64, {}));
  Graph& graph = module.add_graph("main");

  SegmentId floats(const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return module.make_constant(
        module.intern(Type::fixed_tensor(DType::kF32, {static_cast<int64_t>(values.size())})),
        bytes);
  }
  std::vector<float> run(std::vector<EvalValue> inputs) {
    auto outputs = evaluate_graph(graph, std::move(inputs));
    if (!outputs.ok()) {
      ADD_FAILURE() << outputs.error().message;
      return {};
    }
    const auto result = (*outputs)[0].tensor->as<float>();
    return {result.begin(), result.end()};
  }
};

TEST_F(GraphEvalTest, ConstantsOfEveryKind) {
  Graph& body = module.add_graph("sum", GraphRole::kExpression);
  Value& a = body.add_input(two);
  Value& b = body.add_input(two);
  body.add_output(body.add_node(Op::kAdd, {&a, &b}).output());
  const SegmentId small = floats({1, 2});
  const float ten = 10;
  const SegmentId splat = module.make_splat(two, std::as_bytes(std::span(&ten, 1)));
  const SegmentId expression = module.make_expression(two, body.id(), {small, splat});
  Value& x = graph.add_input(two);
  graph.add_output(graph.add_node(Op::kMul, {&x, &graph.add_constant(expression)}).output());
  EXPECT_THAT(run({EvalValue::of(f32({2}, {2, 3}))}), ElementsAre(22, 36));
  EXPECT_THAT(evaluate_segment(module, expression)->as<float>(), ElementsAre(11, 12));
}

TEST_F(GraphEvalTest, ParametersComeFromTheCall) {
  Graph& part = module.add_graph("part", GraphRole::kSubgraph);
  Value& x = part.add_input(two);
  Value& weight = part.add_input(two);
  weight.set_segment(module.make_parameter(two, 1));
  Graph& doubled = module.add_graph("doubled", GraphRole::kExpression);
  Value& w = doubled.add_input(two);
  doubled.add_output(doubled.add_node(Op::kAdd, {&w, &w}).output());
  const SegmentId packed = module.make_expression(two, doubled.id(), {weight.segment()});
  part.add_output(part.add_node(Op::kMul, {&x, &part.add_constant(packed)}).output());
  Value& input = graph.add_input(two);
  Node& call = graph.add_node(Op::kCall, {&input, &graph.add_constant(floats({1, 10}))});
  call.set_attribute("body", GraphRef{part.id()});
  graph.add_output(call.output());
  EXPECT_THAT(run({EvalValue::of(f32({2}, {3, 4}))}), ElementsAre(6, 80));
}

TEST_F(GraphEvalTest, BodiesOfAttentionSeeScoresAndProbabilities) {
  Graph& shift = module.add_graph("shift", GraphRole::kBody);
  Graph& mask = module.add_graph("mask", GraphRole::kBody);
  shift.captures = mask.captures = 1;
  shift.add_output(shift.add_node(Op::kAdd, {&shift.add_input(0), &shift.add_input(two)}).output());
  mask.add_output(mask.add_node(Op::kMul, {&mask.add_input(0), &mask.add_input(two)}).output());
  Node& node = graph.add_node(Op::kFlexAttention, {&graph.add_input(0), &graph.add_input(0),
                                                   &graph.add_input(0), &graph.add_input(two)});
  node.set(attributes::FlexAttention::score_mod, GraphRef{shift.id()});
  node.set(attributes::FlexAttention::prob_mod, GraphRef{mask.id()});
  graph.add_output(node.output());
  const EvalValue zero = EvalValue::of(f32({1, 1, 1, 1}, {0}));
  const auto attend = [&](float first, float second) {
    return run({zero, EvalValue::of(f32({1, 1, 2, 1}, {1, 2})),
                EvalValue::of(f32({1, 1, 2, 1}, {10, 30})),
                EvalValue::of(f32({2}, {first, second}))});
  };
  EXPECT_THAT(attend(2, 2), ElementsAre(40));  // probabilities of 1/2, doubled
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(attend(-infinity, -infinity)[0]));
}

TEST_F(GraphEvalTest, IfWithCapture) {
  Node& choice = graph.add_node(Op::kIf, {&graph.add_input(flag), &graph.add_input(two)});
  for (const auto& [name, op] :
       {std::pair("then_branch", Op::kNeg), std::pair("else_branch", Op::kAbs)}) {
    Graph& branch = module.add_graph(name, GraphRole::kBody);
    Value& captured = branch.add_input(two);
    branch.captures = 1;
    branch.add_output(branch.add_node(op, {&captured}).output());
    choice.set_attribute(name, GraphRef{branch.id()});
  }
  graph.add_output(choice.output());
  EXPECT_THAT(run({EvalValue::of(bools({}, {1})), EvalValue::of(f32({2}, {-1, 2}))}),
              ElementsAre(1, -2));
  EXPECT_THAT(run({EvalValue::of(bools({}, {0})), EvalValue::of(f32({2}, {-1, 2}))}),
              ElementsAre(1, 2));
}

TEST_F(GraphEvalTest, LoopWithStateScanAndCapture) {
  Graph& body = module.add_graph("body", GraphRole::kBody);
  body.add_input(count);
  Value& go_on = body.add_input(flag);
  Value& state = body.add_input(two);
  Value& step = body.add_input(two);
  body.captures = 1;
  Node& sum = body.add_node(Op::kAdd, {&state, &step});
  body.add_output(body.add_node(Op::kIdentity, {&go_on}).output());
  body.add_output(sum.output());
  Value& negative = body.add_node(Op::kNeg, {&sum.output()}).output();
  negative.set_type(two);
  body.add_output(negative);
  Node& loop = graph.add_node(
      Op::kLoop, {&graph.add_input(count), nullptr, &graph.add_input(two), &graph.add_input(two)},
      2);
  loop.set_attribute("body", GraphRef{body.id()});
  graph.add_output(loop.output(1));
  graph.add_output(loop.output(0));
  const auto inputs = [](int64_t trips) {
    return std::vector<EvalValue>{EvalValue::of(i64({}, {trips})), EvalValue::of(f32({2}, {0, 1})),
                                  EvalValue::of(f32({2}, {1, 2}))};
  };
  EXPECT_THAT(run(inputs(2)), ElementsAre(-1, -3, -2, -5));
  const auto none = evaluate_graph(graph, inputs(0));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)[0].tensor->dims[0], 0);
}

TEST_F(GraphEvalTest, IntoPlannedMemory) {
  Node& add = graph.add_node(Op::kAdd, {&graph.add_input(two), &graph.add_input(two)});
  const std::vector<int64_t> dims = {2};
  const float a[] = {1, 2};
  float y[2] = {};
  const TensorView view{DType::kF32, dims, reinterpret_cast<const std::byte*>(a)};
  const MutableTensorView target{DType::kF32, dims, reinterpret_cast<std::byte*>(y)};
  const TensorView inputs[] = {view, view};
  ASSERT_TRUE(evaluate_node_into(add, inputs, std::span(&target, 1)).ok());
  EXPECT_THAT(y, ElementsAre(2, 4));
  const std::vector<int64_t> other = {1, 2};
  const MutableTensorView wrong{DType::kF32, other, reinterpret_cast<std::byte*>(y)};
  EXPECT_EQ(evaluate_node_into(add, inputs, std::span(&wrong, 1)).error().code,
            ErrorCode::kBadShape);
}

TEST_F(GraphEvalTest, MissingKernelNamesTheNode) {
  NodeRun run(Op::kUpsample, {f32({1, 1}, {1})});
  EXPECT_EQ(run.error().code, ErrorCode::kNotEvaluable);
  EXPECT_THAT(run.error().message, testing::HasSubstr("(Upsample)"));
}

}  // namespace
}  // namespace sluice
