#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DecomposeCrossEntropy, WithWeightsAndLogarithms) {
  expect_rewrite(decompose_cross_entropy,
                 R"(graph @main(%x: f32[2, 3, 2], %w: f32[3]) -> (%y, %p) {
  %l = constant i64[2, 2] [2, 0, -1, 1]
  %y: f32[], %p: f32[2, 3, 2] = SoftmaxCrossEntropyLoss(%x, %l, %w) {ignore_index = -1, reduction = "mean"}
}
)",
                 R"(graph @main(%x: f32[2, 3, 2], %w: f32[3]) -> (%y, %p) {
  %l = constant i64[2, 2] [2, 0, -1, 1]
  %p: f32[2, 3, 2] = LogSoftmax(%x) {axis = 1}
  %y: f32[] = NegativeLogLikelihoodLoss(%p, %l, %w) {ignore_index = -1, reduction = "mean"}
}
)");
}

TEST(DecomposeCrossEntropy, F16IsComputedInF32) {
  expect_rewrite(decompose_cross_entropy,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f16[N, 3], %l: i64[N]) -> (%y) {
  %y: f16[] = SoftmaxCrossEntropyLoss(%x, %l) {reduction = "sum"}
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f16[N, 3], %l: i64[N]) -> (%y) {
  %0: f32[N, 3] = Cast(%x) {to = 1}
  %1: f32[N, 3] = LogSoftmax(%0) {axis = 1}
  %2: f32[] = NegativeLogLikelihoodLoss(%1, %l) {reduction = "sum"}
  %y: f16[] = Cast(%2) {to = 10}
}
)");
}

TEST(DecomposeCrossEntropy, LossesOfRowsStay) {
  expect_unchanged(decompose_cross_entropy, R"(graph @main(%x: f32[4, 3], %l: i64[4]) -> (%y) {
  %y: f32[4] = SoftmaxCrossEntropyLoss(%x, %l) {reduction = "none"}
}
)");
}

}  // namespace
}  // namespace sluice
