// Attention: the past, padding, and the scores of each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "common/eval/testing/node_test.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(AttentionTest, UniformScoresAverage) {
  const NodeRun run(Op::kAttention, {f32({1, 1, 1, 1}, {0}), f32({1, 1, 2, 1}, {1, 2}),
                                     f32({1, 1, 2, 1}, {10, 30})});
  EXPECT_THAT(run.get<float>(), ElementsAre(20));
}

// Two query heads share the one key head; rank 3 keeps them side by side. The first query sees the
// past and its own key, the second sees all.
TEST(AttentionTest, CausalWithAPast) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity(), kThird = 1.0f / 3;
  const std::map<int64_t, std::vector<float>> scores_by_mode = {
      {0, {0, 0, 0, 0, 0, 0}},
      {2, {0, 0, kHidden, 0, 0, 0}},
      {3, {0.5f, 0.5f, 0, kThird, kThird, kThird}}};
  for (const auto& [mode, of_head] : scores_by_mode) {
    const NodeRun run(
        Op::kAttention,
        {f32({1, 2, 2}, {0, 0, 0, 0}), f32({1, 2, 1}, {1, 2}), f32({1, 2, 1}, {10, 60}), Tensor(),
         f32({1, 1, 1, 1}, {3}), f32({1, 1, 1, 1}, {50})},
        {{"q_num_heads", int64_t{2}},
         {"kv_num_heads", int64_t{1}},
         {"is_causal", int64_t{1}},
         {"qk_matmul_output_mode", mode}},
        4);
    EXPECT_THAT(run.get<float>(), ElementsAre(30, 30, 40, 40));
    EXPECT_THAT(run.get<float>(1), ElementsAre(3, 1, 2));
    EXPECT_THAT(run.get<float>(2), ElementsAre(50, 10, 60));
    std::vector<float> scores = of_head;
    scores.insert(scores.end(), of_head.begin(), of_head.end());
    EXPECT_EQ(run.get<float>(3), scores) << "mode " << mode;
  }
}

// A length hides the keys after it, and a softcap bounds the scores before the softmax.
TEST(AttentionTest, LengthsAndSoftcap) {
  const NodeRun run(Op::kAttention,
                    {f32({1, 1, 1, 1}, {1000}), f32({1, 1, 3, 1}, {1, -1, 1000}),
                     f32({1, 1, 3, 1}, {10, 30, 50}), Tensor(), Tensor(), Tensor(), i64({1}, {2})},
                    {{"softcap", 2.0f}, {"qk_matmul_output_mode", int64_t{1}}}, 4);
  EXPECT_THAT(run.get<float>(3), ElementsAre(2, -2, 2));
  const float expected = 10 + 20 / (1 + std::exp(4.0f));
  EXPECT_THAT(run.get<float>(), ElementsAre(FloatNear(expected, 1e-5f)));
}

}  // namespace
}  // namespace sluice
