// The kernels of ai.onnx.ml, and pooled regions.
#include <gmock/gmock.h>

#include <cmath>

#include "common/eval/testing/node_test.h"

namespace sluice {
namespace {

using testing::ElementsAre;

TEST(LabelEncoderTest, NumbersAndTexts) {
  const NodeRun numbers(Op::kLabelEncoder,
                        {texts({2, 2}, {"b", "a", "", "b"}), texts({2}, {"a", "b"}),
                         i64({2}, {7, 8}), i64({1}, {-1})});
  EXPECT_THAT(numbers.get<int64_t>(), ElementsAre(8, 7, -1, 8));
  EXPECT_EQ(numbers.dims(), (Ints{2, 2}));
  const float nan = std::nanf("");
  const NodeRun words(Op::kLabelEncoder,
                      {f32({4}, {-0.0f, nan, 1, 2}), f32({3}, {0, nan, 1}),
                       texts({3}, {"zero", "none", "one"}), texts({}, {"other"})});
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ(string_at(words.tensor(), 0), "zero");
  EXPECT_EQ(string_at(words.tensor(), 1), "none");
  EXPECT_EQ(string_at(words.tensor(), 2), "one");
  EXPECT_EQ(string_at(words.tensor(), 3), "other");
  EXPECT_EQ(
      NodeRun(Op::kLabelEncoder, {i64({1}, {1}), i64({2}, {1, 2}), i64({1}, {1}), i64({1}, {1})})
          .error()
          .code,
      ErrorCode::kBadShape);
}

TEST(ZipMapTest, RowsShareTheirKeys) {
  const NodeRun maps(Op::kZipMap, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), texts({3}, {"a", "b", "c"})});
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  ASSERT_EQ(maps.value().elements.size(), 2u);
  const EvalValue &first = maps.value().elements[0], &second = maps.value().elements[1];
  EXPECT_EQ(second.kind, EvalValue::Kind::kMap);
  EXPECT_THAT(second.elements[1].tensor->as<float>(), ElementsAre(4, 5, 6));
  EXPECT_EQ(first.elements[0].tensor, second.elements[0].tensor);
  EXPECT_EQ(string_at(*second.elements[0].tensor, 2), "c");
  EXPECT_EQ(NodeRun(Op::kZipMap, {f32({1, 2}, {1, 2}), i64({1}, {1})}).error().code,
            ErrorCode::kBadShape);
  EXPECT_EQ(NodeRun(Op::kZipMap, {f32({1, 1}, {1}), i64({}, {1})}).error().code,
            ErrorCode::kBadShape);
}

TEST(DictVectorizerTest, TakesMapsOnly) {
  EXPECT_EQ(NodeRun(Op::kDictVectorizer, {f32({1}, {1}), i64({1}, {1})}).error().code,
            ErrorCode::kBadValue);
}

TEST(OneHotEncoderTest, UnknownCategories) {
  const Tensor x = i64({2}, {5, 9}), categories = i64({2}, {3, 5});
  EXPECT_THAT(NodeRun(Op::kOneHotEncoder, {x, categories}).get<float>(), ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(NodeRun(Op::kOneHotEncoder, {x, categories}, {{"zeros", int64_t{0}}}).error().code,
            ErrorCode::kBadValue);
}

// A root that compares feature 0 with 2.5 by `mode`: true to leaf 0, false to leaf 1.
struct Stump {
  uint8_t mode = 0;
  int64_t aggregate = 1;
  std::vector<float> members;
  Ints tracks = {0};
  Ints true_ids = {0};
  Ints true_leaves = {1};

  NodeRun run(const Tensor& x) const {
    std::vector<Tensor> inputs = {x, f32({1}, {2.5f}), u8({1}, {mode}), f32({2}, {10, 20})};
    if (!members.empty()) inputs.push_back(f32({static_cast<int64_t>(members.size())}, members));
    return NodeRun(Op::kTreeEnsemble, inputs,
                   {{"aggregate_function", aggregate},
                    {"leaf_targetids", Ints{0, 0}},
                    {"n_targets", int64_t{1}},
                    {"nodes_falseleafs", Ints{1}},
                    {"nodes_falsenodeids", Ints{1}},
                    {"nodes_featureids", Ints{0}},
                    {"nodes_missing_value_tracks_true", tracks},
                    {"nodes_trueleafs", true_leaves},
                    {"nodes_truenodeids", true_ids},
                    {"tree_roots", Ints{0, 0}}});
  }
};

TEST(TreeEnsembleTest, Modes) {
  const float nan = std::nanf("");
  const Tensor x = f32({4, 1}, {2, 2.5f, 3, nan});
  EXPECT_THAT(Stump{.mode = 0}.run(x).get<float>(), ElementsAre(20, 20, 40, 40));
  EXPECT_THAT(Stump{.mode = 1}.run(x).get<float>(), ElementsAre(20, 40, 40, 40));
  EXPECT_THAT(Stump{.mode = 2}.run(x).get<float>(), ElementsAre(40, 20, 20, 40));
  EXPECT_THAT(Stump{.mode = 3}.run(x).get<float>(), ElementsAre(40, 40, 20, 40));
  EXPECT_THAT(Stump{.mode = 4}.run(x).get<float>(), ElementsAre(40, 20, 40, 40));
  EXPECT_THAT((Stump{.mode = 5, .tracks = {1}}.run(x).get<float>()), ElementsAre(20, 40, 20, 20));
  EXPECT_THAT((Stump{.mode = 6, .members = {3, 2, nan}}.run(x).get<float>()),
              ElementsAre(20, 40, 20, 40));
}

TEST(TreeEnsembleTest, Aggregates) {
  const Tensor x = f32({1, 1}, {2});
  for (const int64_t aggregate : {0, 2, 3})
    EXPECT_THAT(Stump{.aggregate = aggregate}.run(x).get<float>(), ElementsAre(10)) << aggregate;
}

TEST(TreeEnsembleTest, BadTablesAreErrors) {
  const Tensor x = f32({1, 1}, {2});
  EXPECT_EQ((Stump{.true_ids = {2}}.run(x).error().code), ErrorCode::kBadValue);
  EXPECT_THAT((Stump{.true_ids = {0}, .true_leaves = {0}}.run(x).error().message),
              testing::HasSubstr("circle"));
  EXPECT_EQ((Stump{.mode = 6, .members = {3, 2}}.run(x).error().code), ErrorCode::kBadValue);
  EXPECT_EQ((Stump{.mode = 7}.run(x).error().code), ErrorCode::kBadValue);
  EXPECT_EQ((Stump{.tracks = {0, 0}}.run(x).error().code), ErrorCode::kBadShape);
  EXPECT_EQ(Stump{}.run(f32({1, 0}, {})).error().code, ErrorCode::kBadValue);
}

// Scores of pairs, and the probabilities that ONNX Runtime 1.30 makes of them with prob_a = -1.2
// and prob_b = 0.1.
TEST(PairwiseCouplingTest, StopsWhereOthersDo) {
  const std::vector<float> scores = {-2.2023897f, 0.11265561f,  -1.2491165f,
                                     -2.8153808f, -0.57572103f, -1.2603474f};
  std::vector<float> chances;
  for (const float score : scores) chances.push_back(1 - 1 / (1 + std::exp(1.2f * score - 0.1f)));
  const NodeRun run(Op::kPairwiseCoupling, {f32({2, 3}, chances)}, {{"classes", int64_t{3}}});
  EXPECT_THAT(run.get<float>(),
              testing::Pointwise(testing::FloatNear(2e-6f),
                                 std::vector<float>{0.20412387f, 0.23758729f, 0.55828881f,
                                                    0.12926513f, 0.18738668f, 0.68334824f}));
  EXPECT_EQ(NodeRun(Op::kPairwiseCoupling, {f32({1, 2}, {1, 1})}, {{"classes", int64_t{3}}})
                .error()
                .message,
            "node 'n' (PairwiseCoupling): 1x2 holds no pairs of 3 classes");
}

TEST(InverseTest, RowsAreExchanged) {
  const NodeRun run(Op::kInverse, {f64({2, 2, 2}, {0, 2, 4, 0, 2, 1, 1, 1})});
  EXPECT_THAT(run.get<double>(), ElementsAre(0, 0.25, 0.5, 0, 1, -1, -1, 2));
  EXPECT_EQ(run.dims(), (Ints{2, 2, 2}));
}

TEST(InverseTest, OfASingularMatrixIsNotFinite) {
  const NodeRun run(Op::kInverse, {f32({2, 2}, {1, 2, 2, 4})});
  for (const float x : run.get<float>()) EXPECT_FALSE(std::isfinite(x));
}

TEST(MaxRoiPoolTest, BinsOfWholePixels) {
  const Tensor x = f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Attribute> pooled = {{"pooled_shape", Ints{1, 2}}};
  EXPECT_THAT(NodeRun(Op::kMaxRoiPool, {x, f32({1, 5}, {0, 0, 0, 2, 1})}, pooled).get<float>(),
              ElementsAre(5, 6));
  EXPECT_THAT(NodeRun(Op::kMaxRoiPool, {x, f32({1, 5}, {0, 7, 7, 9, 9})}, pooled).get<float>(),
              ElementsAre(0, 0));
  EXPECT_EQ(NodeRun(Op::kMaxRoiPool, {x, f32({1, 5}, {1, 0, 0, 2, 1})}, pooled).error().code,
            ErrorCode::kBadValue);
}

TEST(ImageDecoderTest, PixelFormats) {
  const std::string file = std::string("P6 1 2 255\n") + "\x0a\x14\x1e" + "\xff\x80\x40";
  const Tensor bytes = u8({static_cast<int64_t>(file.size())}, {file.begin(), file.end()});
  const auto decoded = [&](const char* format) {
    return NodeRun(Op::kImageDecoder, {bytes}, {{"pixel_format", std::string(format)}});
  };
  const NodeRun red_first = decoded("RGB");
  if (red_first.error().code == ErrorCode::kNotEvaluable) GTEST_SKIP() << red_first.error().message;
  EXPECT_EQ(red_first.dims(), (Ints{2, 1, 3}));
  EXPECT_THAT(red_first.get<uint8_t>(), ElementsAre(10, 20, 30, 255, 128, 64));
  EXPECT_THAT(decoded("BGR").get<uint8_t>(), ElementsAre(30, 20, 10, 64, 128, 255));
  EXPECT_THAT(decoded("Grayscale").get<uint8_t>(), ElementsAre(18, 159));
  EXPECT_EQ(decoded("Grayscale").dims(), (Ints{2, 1, 1}));
  EXPECT_EQ(decoded("HSV").error().code, ErrorCode::kBadValue);
  EXPECT_THAT(NodeRun(Op::kImageDecoder, {u8({3}, {1, 2, 3})}).error().message,
              testing::HasSubstr("3 bytes are no image"));
}

}  // namespace
}  // namespace sluice
