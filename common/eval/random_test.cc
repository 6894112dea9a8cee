// Random numbers: equal to those of numpy.random.RandomState where it has the same distribution,
// otherwise checked by their statistics.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/eval/testing/node_test.h"

namespace sluice {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

constexpr int64_t kMany = 20000;

std::vector<Attribute> of_shape(Ints shape, float seed, int64_t dtype = 1) {
  return {{"shape", std::move(shape)}, {"seed", seed}, {"dtype", dtype}};
}

template <typename T>
double mean(const std::vector<T>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

template <typename T>
double deviation(const std::vector<T>& x) {
  const double middle = mean(x);
  double sum = 0;
  for (const T element : x) sum += (element - middle) * (element - middle);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(RandomTest, UniformIsNumpys) {
  // The expected numbers are those of numpy.random.RandomState(5).rand(3).
  EXPECT_THAT(NodeRun(Op::kRandomUniform, {}, of_shape({3}, 5)).get<float>(),
              ElementsAre(FloatNear(0.22199317f, 1e-7f), FloatNear(0.87073231f, 1e-7f),
                          FloatNear(0.20671916f, 1e-7f)));
}

TEST(RandomTest, NormalIsNumpys) {
  // The expected numbers are those of numpy.random.RandomState(5).randn(3).
  EXPECT_THAT(NodeRun(Op::kRandomNormal, {}, of_shape({3}, 5)).get<float>(),
              ElementsAre(FloatNear(0.44122749f, 1e-7f), FloatNear(-0.33087015f, 1e-7f),
                          FloatNear(2.43077119f, 1e-6f)));
}

TEST(RandomTest, StatisticsAreThoseAskedFor) {
  std::vector<Attribute> attributes = of_shape({kMany}, -7, 11);
  attributes.push_back({"low", -3.0f});
  attributes.push_back({"high", 5.0f});
  const auto uniform = NodeRun(Op::kRandomUniform, {}, attributes).get<double>();
  EXPECT_NEAR(mean(uniform), 1, 0.1);
  EXPECT_NEAR(deviation(uniform), 8 / std::sqrt(12), 0.05);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -3);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 5);
  const Tensor like = make_tensor(DType::kF64, {kMany});
  const auto normal =
      NodeRun(Op::kRandomNormalLike, {like}, {{"mean", 2.0f}, {"scale", 3.0f}, {"seed", -8.0f}})
          .get<double>();
  EXPECT_NEAR(mean(normal), 2, 0.1);
  EXPECT_NEAR(deviation(normal), 3, 0.1);
}

TEST(RandomTest, ASeedGivesItsNumbersAgain) {
  const auto numbers = [](float seed) {
    return NodeRun(Op::kRandomUniform, {}, of_shape({8}, seed)).get<float>();
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_EQ(numbers(-1), numbers(-1));
  EXPECT_NE(numbers(1), numbers(2));
  EXPECT_NE(numbers(-1), numbers(-2));
  EXPECT_NE(numbers(1), numbers(-1));
}

TEST(RandomTest, LikeTakesDimsAndDtype) {
  const NodeRun same(Op::kRandomUniformLike, {f64({2, 3}, {0, 0, 0, 0, 0, 0})});
  EXPECT_EQ(same.tensor().dtype, DType::kF64);
  EXPECT_EQ(same.dims(), (Ints{2, 3}));
  const NodeRun other(Op::kRandomUniformLike, {i64({2}, {0, 0})}, {{"dtype", int64_t{10}}});
  EXPECT_EQ(other.tensor().dtype, DType::kF16);
}

TEST(RandomTest, BernoulliFollowsItsChances) {
  Tensor chances = make_tensor(DType::kF32, {3, kMany});
  for (size_t i = 0; i < 3 * kMany; ++i)
    chances.as<float>()[i] = i < kMany ? 0.0f : i < 2 * kMany ? 0.3f : 1.0f;
  const NodeRun run(Op::kBernoulli, {chances}, {{"dtype", int64_t{7}}, {"seed", 3.0f}});
  const auto drawn = run.get<int64_t>();
  EXPECT_EQ(run.tensor().dtype, DType::kI64);
  const auto share = [&](int64_t row) {
    return mean(
        std::vector<int64_t>(drawn.begin() + row * kMany, drawn.begin() + (row + 1) * kMany));
  };
  EXPECT_EQ(share(0), 0);
  EXPECT_NEAR(share(1), 0.3, 0.02);
  EXPECT_EQ(share(2), 1);
  EXPECT_EQ(NodeRun(Op::kBernoulli, {f32({1}, {1.5f})}).error().code, ErrorCode::kBadValue);
  EXPECT_EQ(NodeRun(Op::kBernoulli, {f32({1}, {std::nanf("")})}).error().code,
            ErrorCode::kBadValue);
}

TEST(RandomTest, MultinomialFollowsItsWeights) {
  const float lowest = -std::numeric_limits<float>::infinity();
  const Tensor logs = f32({2, 3}, {std::log(1.0f), lowest, std::log(3.0f), lowest, -900, lowest});
  const NodeRun run(Op::kMultinomial, {logs}, {{"sample_size", kMany}, {"seed", 1.0f}});
  EXPECT_EQ(run.dims(), (Ints{2, kMany}));
  const auto drawn = run.get<int32_t>();
  EXPECT_NEAR(mean(std::vector<int32_t>(drawn.begin(), drawn.begin() + kMany)), 1.5, 0.05);
  EXPECT_EQ(std::count(drawn.begin(), drawn.begin() + kMany, 1), 0);
  EXPECT_THAT(std::vector<int32_t>(drawn.begin() + kMany, drawn.end()), Each(1));
  EXPECT_EQ(NodeRun(Op::kMultinomial, {f32({1, 2}, {lowest, lowest})}).error().code,
            ErrorCode::kBadValue);
}

TEST(RandomTest, DropoutDropsAndScales) {
  Tensor x = make_tensor(DType::kF64, {kMany});
  for (double& element : x.as<double>()) element = 3;
  const NodeRun run(Op::kDropout, {x, f32({}, {0.25f}), bools({}, {1})}, {{"seed", int64_t{4}}}, 2);
  const auto kept = run.get<uint8_t>(1);
  EXPECT_NEAR(mean(kept), 0.75, 0.02);
  const auto y = run.get<double>(0);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], kept[i] != 0 ? 4 : 0, 1e-6);
  const NodeRun all(Op::kDropout, {f32({2}, {1, 2}), f32({}, {0}), bools({}, {1})}, {}, 2);
  EXPECT_THAT(all.get<float>(0), ElementsAre(1, 2));
  EXPECT_THAT(all.get<uint8_t>(1), ElementsAre(1, 1));
  EXPECT_EQ(NodeRun(Op::kDropout, {f32({1}, {1}), f32({}, {1}), bools({}, {1})}).error().code,
            ErrorCode::kBadValue);
}

}  // namespace
}  // namespace sluice
