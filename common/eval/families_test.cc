#include <gmock/gmock.h>

#include <cmath>

#include "common/eval/number.h"
#include "common/eval/testing/node_test.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(ReduceTest, AxesAndKinds) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(NodeRun(Op::kReduceSum, {x, i64({1}, {0})}).get<float>(), ElementsAre(5, 7, 9));
  EXPECT_EQ(NodeRun(Op::kReduceMean, {x}, {{"keepdims", int64_t{0}}}).dims(), Ints{});
  EXPECT_THAT(NodeRun(Op::kReduceMean, {x, i64({1}, {-1})}).get<float>(), ElementsAre(2, 5));
  EXPECT_THAT(NodeRun(Op::kReduceL2, {f32({2}, {3, 4})}).get<float>(), ElementsAre(5));
  EXPECT_THAT(NodeRun(Op::kReduceMax, {i64({2}, {-3, -4})}).get<int64_t>(), ElementsAre(-3));
  EXPECT_THAT(NodeRun(Op::kReduceSum, {x}, {{"noop_with_empty_axes", int64_t{1}}}).get<float>(),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(NodeRun(Op::kReduceLogSumExp, {f32({2}, {1000, 1000})}).get<float>(),
              ElementsAre(FloatNear(1000.6931f, 1e-3f)));
}

TEST(ReduceTest, ArgMaxTopKAndCumSum) {
  const Tensor x = i64({4}, {3, 7, 7, 1});
  EXPECT_THAT(NodeRun(Op::kArgMax, {x}).get<int64_t>(), ElementsAre(1));
  EXPECT_THAT(NodeRun(Op::kArgMax, {x}, {{"select_last_index", int64_t{1}}}).get<int64_t>(),
              ElementsAre(2));
  const NodeRun top(Op::kTopK, {x, i64({1}, {3})}, {}, 2);
  EXPECT_THAT(top.get<int64_t>(0), ElementsAre(7, 7, 3));
  EXPECT_THAT(top.get<int64_t>(1), ElementsAre(1, 2, 0));
  EXPECT_THAT(
      NodeRun(Op::kCumSum, {x, i64({}, {0})}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}})
          .get<int64_t>(),
      ElementsAre(15, 8, 1, 0));
}

TEST(ReduceTest, Unique) {
  const NodeRun run(Op::kUnique, {i64({5}, {5, 2, 5, 1, 2})}, {}, 4);
  EXPECT_THAT(run.get<int64_t>(0), ElementsAre(1, 2, 5));
  EXPECT_THAT(run.get<int64_t>(1), ElementsAre(3, 1, 0));
  EXPECT_THAT(run.get<int64_t>(2), ElementsAre(2, 1, 2, 0, 1));
  EXPECT_THAT(run.get<int64_t>(3), ElementsAre(1, 2, 2));
}

TEST(QuantizeTest, RoundsHalfToEvenAndSaturates) {
  EXPECT_THAT(
      NodeRun(Op::kQuantizeLinear, {f32({5}, {0, 1, 3, 1000, -1000}), f32({}, {2}), u8({}, {128})})
          .get<uint8_t>(),
      ElementsAre(128, 128, 130, 255, 0));
  EXPECT_THAT(
      NodeRun(Op::kDequantizeLinear, {i8({2, 2}, {1, 2, 3, 4}), f32({2}, {2, 10}), i8({2}, {0, 1})})
          .get<float>(),
      ElementsAre(2, 10, 6, 30));
  EXPECT_THAT(NodeRun(Op::kDequantizeLinear, {i8({1, 4}, {1, 2, 3, 4}), f32({1, 2}, {1, 10})},
                      {{"block_size", int64_t{2}}})
                  .get<float>(),
              ElementsAre(1, 2, 30, 40));
}

TEST(QuantizeTest, MatMulInteger) {
  EXPECT_THAT(NodeRun(Op::kMatMulInteger,
                      {u8({1, 2}, {10, 20}), u8({2, 1}, {1, 3}), u8({}, {10}), u8({}, {1})})
                  .get<int32_t>(),
              ElementsAre(20));
}

TEST(ResizeTest, NearestAndLinear) {
  const Tensor x = f32({1, 1, 1, 2}, {1, 3});
  const Tensor none;
  const Tensor twice = f32({4}, {1, 1, 1, 2});
  EXPECT_THAT(NodeRun(Op::kResize, {x, none, twice}).get<float>(), ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(
      NodeRun(Op::kResize, {x, none, twice}, {{"mode", std::string("linear")}}).get<float>(),
      ElementsAre(1, 1.5f, 2.5f, 3));
  EXPECT_THAT(NodeRun(Op::kResize, {x, none, none, i64({4}, {1, 1, 1, 3})},
                      {{"mode", std::string("linear")},
                       {"coordinate_transformation_mode", std::string("align_corners")}})
                  .get<float>(),
              ElementsAre(1, 2, 3));
}

TEST(CastTest, BlanksAroundANumber) {
  EXPECT_THAT(
      NodeRun(Op::kCast, {texts({4}, {" 7", "-2.5\t", "\n+3", " inf "})}, {{"to", int64_t{1}}})
          .get<float>(),
      ElementsAre(7, -2.5f, 3, INFINITY));
  EXPECT_THAT(NodeRun(Op::kCast, {texts({2}, {"1", "1 2"})}, {{"to", int64_t{7}}}).error().message,
              HasSubstr("element 1 is '1 2'"));
}

TEST(CastTest, RoundsToIntegersOfLessThanAByte) {
  const Tensor x = f32({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.49f, -2.51f, 6.7f});
  const auto cast = [&](DType to) {
    const NodeRun run(Op::kCast, {x}, {{"to", static_cast<int64_t>(to)}});
    std::vector<int64_t> found(8);
    eval::load_ints(to, run.tensor().bytes.data(), 0, 8, found.data());
    return found;
  };
  EXPECT_THAT(cast(DType::kI4), ElementsAre(0, 2, 2, 0, -2, 2, -3, 7));
  EXPECT_THAT(cast(DType::kU2), ElementsAre(0, 2, 2, 0, 2, 2, 1, 3));
  EXPECT_THAT(cast(DType::kI8), ElementsAre(0, 1, 2, 0, -1, 2, -2, 6));
}

TEST(UnaryTest, ThresholdedReluOfNoNumberIsZero) {
  EXPECT_THAT(NodeRun(Op::kThresholdedRelu, {f32({3}, {NAN, 1, 2})}, {}).get<float>(),
              ElementsAre(0, 0, 2));
}

TEST(ResizeTest, EmptyBatch) {
  const Tensor x = f32({0, 1, 1, 2}, {});
  const Tensor none;
  EXPECT_EQ(NodeRun(Op::kResize, {x, none, f32({4}, {1, 1, 1, 2})}).dims(), (Ints{0, 1, 1, 4}));
  EXPECT_EQ(NodeRun(Op::kResize, {x, none, none, i64({4}, {0, 1, 3, 6})},
                    {{"mode", std::string("cubic")}})
                .dims(),
            (Ints{0, 1, 3, 6}));
}

// With coordinates outside the image, cubic weights stay those of the coordinate: here halfway
// between two pixels that are both the border.
TEST(GridSampleTest, CubicBorderIsFoundForEachTap) {
  const NodeRun run(Op::kGridSample,
                    {f32({1, 1, 1, 4}, {8, 0, 0, 0}), f32({1, 1, 1, 2}, {-1.0f, 0})},
                    {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}});
  // For x = -0.5 the taps -2, -1, 0, 1 have the weights of distance 1.5, 0.5, 0.5, 1.5 with a =
  // -0.75.
  EXPECT_THAT(run.get<float>(), ElementsAre(FloatNear(8 * (1 + 0.09375f), 1e-5f)));
}

TEST(ConvTransposeTest, StridesAndPads) {
  const Tensor x = f32({1, 1, 2}, {1, 10});
  const Tensor w = f32({1, 1, 3}, {1, 2, 3});
  EXPECT_THAT(NodeRun(Op::kConvTranspose, {x, w}, {{"strides", Ints{2}}}).get<float>(),
              ElementsAre(1, 2, 13, 20, 30));
  EXPECT_THAT(NodeRun(Op::kConvTranspose, {x, w}, {{"strides", Ints{2}}, {"pads", Ints{1, 1}}})
                  .get<float>(),
              ElementsAre(2, 13, 20));
}

// One iteration with weights 1: h = tanh(x + h0).
TEST(RecurrentTest, RnnAndLstm) {
  const Tensor one = f32({1, 1, 1}, {1});
  const NodeRun rnn(Op::kRNN, {f32({2, 1, 1}, {0.5f, 0.25f}), one, one}, {}, 2);
  const float h1 = std::tanh(0.5f);
  EXPECT_THAT(rnn.get<float>(0),
              ElementsAre(FloatNear(h1, 1e-6f), FloatNear(std::tanh(0.25f + h1), 1e-6f)));
  const Tensor gates = f32({1, 4, 1}, {1, 1, 1, 1});
  const NodeRun lstm(Op::kLSTM, {one, gates, gates}, {}, 3);
  const float gate = 1 / (1 + std::exp(-1.0f));
  const float cell = gate * std::tanh(1.0f);
  EXPECT_THAT(lstm.get<float>(2), ElementsAre(FloatNear(cell, 1e-6f)));
  EXPECT_THAT(lstm.get<float>(1), ElementsAre(FloatNear(gate * std::tanh(cell), 1e-6f)));
}

// Alphas and betas are assigned to the activations that take one, in the order of the activations.
TEST(RecurrentTest, ActivationParametersAreConsumedInOrder) {
  const Tensor minus = f32({1, 1, 1}, {-1});
  const std::vector<std::string> names = {"Tanh", "LeakyRelu"};
  const NodeRun rnn(Op::kRNN, {minus, f32({2, 1, 1}, {1, 1}), f32({2, 1, 1}, {0, 0})},
                    {{"activations", names},
                     {"activation_alpha", std::vector<float>{0.5f}},
                     {"direction", std::string("bidirectional")},
                     {"hidden_size", int64_t{1}}},
                    2);
  EXPECT_THAT(rnn.get<float>(1), ElementsAre(FloatNear(std::tanh(-1.0f), 1e-6f), -0.5f));
}

TEST(EinsumTest, TraceAndEllipsis) {
  EXPECT_THAT(
      NodeRun(Op::kEinsum, {f32({2, 2}, {1, 2, 3, 4})}, {{"equation", std::string("ii->i")}})
          .get<float>(),
      ElementsAre(1, 4));
  EXPECT_THAT(NodeRun(Op::kEinsum, {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1}, {1, 10})},
                      {{"equation", std::string("...ij,jk->...ik")}})
                  .get<float>(),
              ElementsAre(21, 43));
}

TEST(DropoutTest, TrainingTakesRatiosBelowOne) {
  const auto drop = [](float ratio) {
    return NodeRun(Op::kDropout, {f32({2}, {1, 2}), f32({}, {ratio}), bools({}, {1})}, {}, 2);
  };
  EXPECT_THAT(drop(0).get<float>(), ElementsAre(1, 2));
  EXPECT_THAT(drop(0).get<uint8_t>(1), ElementsAre(1, 1));
  EXPECT_EQ(drop(1).error().message,
            "node 'n' (Dropout): the ratio is 1, expected at least 0 and less than 1");
  EXPECT_EQ(drop(-0.5f).error().code, ErrorCode::kBadValue);
}

TEST(SequenceTest, InsertAndConcat) {
  Module module;
  Graph& graph = module.add_graph("g");
  Value& a = graph.add_input(0);
  Value& b = graph.add_input(0);
  Node& made = graph.add_node(Op::kSequenceConstruct, {&a});
  Node& both = graph.add_node(Op::kSequenceInsert, {&made.output(), &b});
  Node& joined = graph.add_node(Op::kConcatFromSequence, {&both.output()});
  joined.set_attribute("axis", int64_t{0});
  graph.add_output(joined.output());
  const auto result =
      evaluate_graph(graph, {EvalValue::of(f32({1}, {1})), EvalValue::of(f32({2}, {2, 3}))});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT((*result)[0].tensor->as<float>(), ElementsAre(1, 2, 3));
}

TEST(TextTest, ConcatAndSplit) {
  const NodeRun joined(Op::kStringConcat, {texts({2}, {"a", "b"}), texts({}, {"!"})});
  EXPECT_EQ(string_at(joined.tensor(), 1), "b!");
  const NodeRun parts(Op::kStringSplit, {texts({2}, {"x,y", "z"})},
                      {{"delimiter", std::string(",")}}, 2);
  EXPECT_EQ(parts.dims(), (Ints{2, 2}));
  EXPECT_EQ(string_at(parts.tensor(), 1), "y");
  EXPECT_EQ(string_at(parts.tensor(), 3), "");
  EXPECT_THAT(parts.get<int64_t>(1), ElementsAre(2, 1));
}

bool matches(const std::string& pattern, const std::string& text) {
  const NodeRun run(Op::kRegexFullMatch, {texts({1}, {text})}, {{"pattern", pattern}});
  return run.ok() && run.get<uint8_t>()[0] != 0;
}

TEST(TextTest, PatternsAreMatchedWithoutBacktracking) {
  EXPECT_TRUE(matches("(a|b)+c{2,3}", "abbacc"));
  EXPECT_FALSE(matches("(a|b)+c{2,3}", "abbac"));
  // Trying alternatives in turn would take hours, or the whole stack.
  EXPECT_FALSE(matches("(a*)*(a|b)*c", std::string(100000, 'a')));
}

TEST(TextTest, PatternsThatTakeTheStackAreRefused) {
  for (const std::string& pattern :
       {std::string(3000, '('), std::string("(a?){100000}"), std::string("((a?){1,1000}){1000,}"),
        std::string("a{99999999999999}"), std::string("(")}) {
    const NodeRun run(Op::kRegexFullMatch, {texts({1}, {"a"})}, {{"pattern", pattern}});
    ASSERT_FALSE(run.ok()) << pattern.substr(0, 30);
    EXPECT_EQ(run.error().code, ErrorCode::kBadValue);
  }
}

TEST(TextTest, GramsAreNoLongerThanRowsAndPoolWhateverTheAttributesSay) {
  const std::vector<Attribute> attributes = {
      {"max_gram_length", INT64_MAX},   {"max_skip_count", INT64_MAX},
      {"min_gram_length", INT64_MIN},   {"mode", std::string("TF")},
      {"ngram_counts", Ints{0, 2}},     {"ngram_indexes", Ints{0, 1, 2}},
      {"pool_int64s", Ints{2, 3, 5, 4}}};
  const NodeRun run(Op::kTfIdfVectorizer, {i64({6}, {1, 2, 3, 5, 5, 4})}, attributes);
  // The counts are of 2, of 3, and of "5 4" adjacent and with one between.
  EXPECT_THAT(run.get<float>(), ElementsAre(1, 1, 2));
}

TEST(SignalTest, TransformOfAnImpulse) {
  const NodeRun run(Op::kDFT, {f32({1, 4, 1}, {0, 1, 0, 0})}, {{"axis", int64_t{1}}});
  EXPECT_THAT(run.get<float>(),
              Pointwise(FloatNear(1e-6f), std::vector<float>{1, 0, 0, -1, -1, 0, 0, 1}));
}

const Attribute kLinear{"update_rule", std::string("linear")};

TEST(LinearAttentionTest, StateGoesFromStepToStep) {
  const NodeRun run(Op::kLinearAttention,
                    {f32({1, 2, 1}, {1, 2}), f32({1, 2, 1}, {1, 1}), f32({1, 2, 2}, {1, 2, 3, 4})},
                    {{"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}, kLinear}, 2);
  EXPECT_THAT(run.get<float>(), ElementsAre(1, 2, 8, 12));
  EXPECT_THAT(run.get<float>(1), ElementsAre(4, 6));
}

TEST(LinearAttentionTest, QueryHeadsShareAStateThatFadesAndIsCorrected) {
  const float half = std::log(0.5f);
  const NodeRun run(Op::kLinearAttention,
                    {f32({1, 1, 2}, {1, 2}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {5}),
                     f32({1, 1, 1, 1}, {2}), f32({1, 1, 1}, {half}), f32({1, 1, 1}, {0.5f})},
                    {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}, {"scale", 10.0f}},
                    2);
  EXPECT_THAT(run.get<float>(), ElementsAre(30, 60));
  EXPECT_THAT(run.get<float>(1), ElementsAre(3));
}

TEST(LinearAttentionTest, WhatDoesNotFitIsRefused) {
  const auto message = [](Tensor key, Tensor decay, int64_t heads) {
    const NodeRun run(
        Op::kLinearAttention,
        {f32({1, 1, 2}, {1, 2}), std::move(key), f32({1, 1, 2}, {1, 2}), {}, std::move(decay)},
        {{"q_num_heads", int64_t{1}},
         {"kv_num_heads", heads},
         {"update_rule", std::string("gated")}},
        2);
    return run.ok() ? "none" : run.error().message;
  };
  const Tensor key = f32({1, 1, 2}, {1, 2});
  EXPECT_EQ(message(key, f32({1, 1, 2}, {0, 0}), 1), "none");
  EXPECT_EQ(message(key, {}, 1),
            "node 'n' (LinearAttention): the update rule 'gated' needs a decay");
  EXPECT_EQ(message(key, f32({1, 1, 3}, {0, 0, 0}), 1),
            "node 'n' (LinearAttention): the inputs do not fit the query 1x1x2");
  EXPECT_EQ(message(f32({1, 2}, {1, 2}), f32({1, 1, 2}, {0, 0}), 1),
            "node 'n' (LinearAttention): query 1x1x2 and value 1x1x2 do not fit their heads");
  EXPECT_EQ(message(key, f32({1, 1, 2}, {0, 0}), 2),
            "node 'n' (LinearAttention): 1 query heads cannot be divided among 2 key heads");
}

TEST(InterleaveTest, TakesPhasesInTurn) {
  const NodeRun run(Op::kInterleave, {f32({1, 1, 2}, {1, 2}), {}, f32({1, 1, 2}, {3, 4})},
                    {{"strides", std::vector<int64_t>{3}}, {"pads", std::vector<int64_t>{0, 1}}});
  EXPECT_THAT(run.get<float>(), ElementsAre(1, 0, 3, 2, 0));
  EXPECT_THAT(run.dims(), ElementsAre(1, 1, 5));
}

TEST(InterleaveTest, ChannelsOfAGroupArePhases) {
  const NodeRun run(Op::kInterleave, {f32({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                    {{"strides", std::vector<int64_t>{2, 1}}, {"group", int64_t{2}}});
  EXPECT_THAT(run.get<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(run.dims(), ElementsAre(1, 2, 2, 2));
  const NodeRun whole(Op::kInterleave, {f32({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                      {{"strides", std::vector<int64_t>{2, 1}}});
  EXPECT_THAT(whole.get<float>(), ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
}

TEST(InterleaveTest, WhatIsNoPhaseIsRefused) {
  const NodeRun run(Op::kInterleave, {f32({1, 3, 2}, {1, 2, 3, 4, 5, 6})},
                    {{"strides", std::vector<int64_t>{2}}});
  EXPECT_EQ(run.error().message, "node 'n' (Interleave): 1 inputs like 1x3x2 are not 2 phases");
}

TEST(CausalConvTest, SeesThePastAndKeepsIt) {
  const NodeRun run(
      Op::kCausalConvWithState,
      {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {10, 1}), f32({1}, {100}), f32({1, 1, 1}, {5})},
      {}, 2);
  EXPECT_THAT(run.get<float>(), ElementsAre(151, 112, 123));
  EXPECT_THAT(run.get<float>(1), ElementsAre(3));
}

TEST(CausalConvTest, ShortInputsLeaveZerosInTheState) {
  const NodeRun run(Op::kCausalConvWithState,
                    {f32({1, 2, 1}, {2, 0}), f32({2, 1, 3}, {1, 1, 1, 1, 1, 1})},
                    {{"activation", std::string("swish")}}, 2);
  EXPECT_THAT(run.get<float>(), Pointwise(FloatNear(1e-6f), std::vector<float>{1.7615942f, 0}));
  EXPECT_THAT(run.get<float>(1), ElementsAre(0, 2, 0, 0));
  EXPECT_THAT(run.dims(1), ElementsAre(1, 2, 2));
}

TEST(CausalConvTest, WhatDoesNotFitIsRefused) {
  const auto message = [](Tensor weight, Tensor past, const char* activation) {
    const NodeRun run(Op::kCausalConvWithState,
                      {f32({1, 1, 2}, {1, 2}), std::move(weight), {}, std::move(past)},
                      {{"activation", std::string(activation)}}, 2);
    return run.ok() ? "none" : run.error().message;
  };
  const Tensor weight = f32({1, 1, 2}, {1, 2});
  EXPECT_EQ(message(weight, f32({1, 1, 1}, {0}), "none"), "none");
  EXPECT_EQ(message(weight, f32({1, 1, 2}, {0, 0}), "none"),
            "node 'n' (CausalConvWithState): the past state is 1x1x2, expected 1x1x1");
  EXPECT_EQ(message(f32({2, 1, 1}, {1, 2}), {}, "none"),
            "node 'n' (CausalConvWithState): weights 2x1x1 do not fit the input 1x1x2");
  EXPECT_EQ(message(weight, {}, "tanh"),
            "node 'n' (CausalConvWithState): the activation 'tanh' is not known");
}

TEST(FlexAttentionTest, ScaleAndPrecision) {
  const std::vector<Tensor> inputs = {f64({1, 2, 1, 1}, {1, 2}), f64({1, 1, 2, 1}, {0, 1}),
                                      f64({1, 1, 2, 1}, {10, 20})};
  EXPECT_THAT(NodeRun(Op::kFlexAttention, inputs, {{"scale", 0.0f}}).get<double>(),
              ElementsAre(15, 15));
  const double wide = NodeRun(Op::kFlexAttention, inputs).get<double>()[0];
  const double narrow =
      NodeRun(Op::kFlexAttention, inputs, {{"softmax_precision", int64_t{10}}}).get<double>()[0];
  EXPECT_NEAR(wide, 17.310585786300049, 1e-13);
  EXPECT_NE(narrow, wide);
  EXPECT_NEAR(narrow, wide, 1e-2);
}

TEST(SwiGLUTest, GatesWithoutSpreading) {
  const NodeRun run(Op::kSwiGLU, {f32({2}, {0, 2}), f32({2}, {3, 4})}, {{"alpha", 0.5f}});
  EXPECT_THAT(run.get<float>(), Pointwise(FloatNear(1e-5f), std::vector<float>{0, 5.8484688f}));
  EXPECT_EQ(NodeRun(Op::kSwiGLU, {f32({2}, {0, 2}), f32({1}, {3})}).error().code,
            ErrorCode::kBadShape);
}

TEST(LossTest, IgnoresLabels) {
  const NodeRun run(Op::kNegativeLogLikelihoodLoss,
                    {f32({3, 2}, {-1, -2, -3, -4, -5, -6}), i64({3}, {0, 1, 9})},
                    {{"ignore_index", int64_t{9}}});
  EXPECT_THAT(run.get<float>(), ElementsAre(2.5f));
}

TEST(ImageTest, Suppression) {
  const NodeRun run(Op::kNonMaxSuppression,
                    {f32({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 5, 1, 6}),
                     f32({1, 1, 3}, {0.8f, 0.9f, 0.7f}), i64({}, {3}), f32({}, {0.5f})});
  EXPECT_THAT(run.get<int64_t>(), ElementsAre(0, 0, 1, 0, 0, 2));
}

}  // namespace
}  // namespace sluice
