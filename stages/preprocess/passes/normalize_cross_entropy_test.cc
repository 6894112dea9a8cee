#include <gtest/gtest.h>

#include "stages/preprocess/passes/passes_testing.h"

namespace sluice {
namespace {

TEST(NormalizeCrossEntropy, SumsAreOfLogarithms) {
  EXPECT_EQ(after_pass(normalize_cross_entropy,
                       R"(graph @main(%x: f32[2, 5, 3], %t: i64[2, 3]) -> (%y, %log) {
  %y: f32[], %log: f32[2, 5, 3] = SoftmaxCrossEntropyLoss(%x, %t) {ignore_index = 1} from "loss"
}
)"),
            R"(graph @main(%x: f32[2, 5, 3], %t: i64[2, 3]) -> (%y, %log) {
  %log: f32[2, 5, 3] = LogSoftmax(%x) {axis = 1} from "loss"
  %y: f32[] = NegativeLogLikelihoodLoss(%log, %t) {ignore_index = 1} from "loss"
}
)");
}

TEST(NormalizeCrossEntropy, WeightsStay) {
  EXPECT_EQ(after_pass(normalize_cross_entropy,
                       R"(graph @main(%x: f32[4, 5], %t: i64[4], %w: f32[5]) -> (%y) {
  %y: f32[] = SoftmaxCrossEntropyLoss(%x, %t, %w) {reduction = "sum"}
}
)"),
            R"(graph @main(%x: f32[4, 5], %t: i64[4], %w: f32[5]) -> (%y) {
  %0: f32[4, 5] = LogSoftmax(%x) {axis = 1}
  %y: f32[] = NegativeLogLikelihoodLoss(%0, %t, %w) {reduction = "sum"}
}
)");
}

TEST(NormalizeCrossEntropy, LossesOfRowsStay) {
  EXPECT_EQ(after_pass(normalize_cross_entropy, R"(graph @main(%x: f32[2, 5], %t: i64[2]) -> (%y) {
  %y: f32[2] = SoftmaxCrossEntropyLoss(%x, %t) {reduction = "none"}
}
)"),
            "unchanged");
}

}  // namespace
}  // namespace sluice
