#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

// Heads that share a key head, a captured value, and a body for scores and one for probabilities.
TEST(DecomposeFlexAttention, WithBodies) {
  expect_rewrite(
      decompose_flex_attention,
      R"(graph @main(%q: f32[2, 4, 3, 16], %k: f32[2, 2, 5, 16], %v: f32[2, 2, 5, 8], %c: f32[3, 5]) -> (%y) {
  %y: f32[2, 4, 3, 8] = FlexAttention(%q, %k, %v, %c) {prob_mod = @p, score_mod = @s}
}
graph @p(%x: f32[2, 4, 3, 5], %c: f32[3, 5]) -> (%r) body captures 1 {
  %t = constant f32[] [2]
  %r: f32[2, 4, 3, 5] = Mul(%x, %t)
}
graph @s(%x: f32[2, 4, 3, 5], %c: f32[3, 5]) -> (%r) body captures 1 {
  %0: f32[2, 4, 3, 5] = Add(%x, %c)
  %r: f32[2, 4, 3, 5] = Tanh(%0)
}
)",
      R"(graph @main(%q: f32[2, 4, 3, 16], %k: f32[2, 2, 5, 16], %v: f32[2, 2, 5, 8], %c: f32[3, 5]) -> (%y) {
  %0 = constant i64[4] [2, 2, 6, 16]
  %1 = constant f32[] [0.25]
  %2 = constant i64[4] [2, 4, 3, 5]
  %t = constant f32[] [2]
  %3 = constant i64[4] [2, 2, 6, 5]
  %4 = constant i64[4] [2, 4, 3, 8]
  %5: f32[2, 2, 6, 16] = Reshape(%q, %0)
  %6: f32[2, 2, 16, 5] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %7: f32[2, 2, 6, 5] = MatMul(%5, %6)
  %8: f32[2, 2, 6, 5] = Mul(%7, %1)
  %9: f32[2, 4, 3, 5] = Reshape(%8, %2)
  %10: f32[2, 4, 3, 5] = Add(%9, %c)
  %r: f32[2, 4, 3, 5] = Tanh(%10)
  %11: f32[2, 4, 3, 5] = Softmax(%r) {axis = 3}
  %r~1: f32[2, 4, 3, 5] = Mul(%11, %t)
  %12: f32[2, 2, 6, 5] = Reshape(%r~1, %3)
  %13: f32[2, 2, 6, 8] = MatMul(%12, %v)
  %y: f32[2, 4, 3, 8] = Reshape(%13, %4)
}
)");
}

TEST(DecomposeFlexAttention, WithAScaleAndWithoutBodies) {
  expect_decomposed(
      decompose_flex_attention,
      R"(graph @main(%q: f32[2, 4, 3, 16], %k: f32[2, 4, 5, 16], %v: f32[2, 4, 5, 8]) -> (%y) {
  %y: f32[2, 4, 3, 8] = FlexAttention(%q, %k, %v) {scale = 0.5}
}
)",
      Op::kFlexAttention);
}

// Bodies see the dtype that the node names, and may give back what they get.
TEST(DecomposeFlexAttention, InAnotherPrecision) {
  expect_rewrite(
      decompose_flex_attention,
      R"(graph @main(%q: f16[1, 1, 3, 4], %k: f16[1, 1, 5, 4], %v: f16[1, 1, 5, 4]) -> (%y) {
  %y: f16[1, 1, 3, 4] = FlexAttention(%q, %k, %v) {score_mod = @s, softmax_precision = 11}
}
graph @s(%x: f64[1, 1, 3, 5]) -> (%x) body {
}
)",
      R"(graph @main(%q: f16[1, 1, 3, 4], %k: f16[1, 1, 5, 4], %v: f16[1, 1, 5, 4]) -> (%y) {
  %0 = constant f32[] [0.5]
  %1: f32[1, 1, 3, 4] = Cast(%q) {to = 1}
  %2: f32[1, 1, 5, 4] = Cast(%k) {to = 1}
  %3: f32[1, 1, 4, 5] = Transpose(%2) {perm = [0, 1, 3, 2]}
  %4: f32[1, 1, 3, 5] = MatMul(%1, %3)
  %5: f32[1, 1, 3, 5] = Mul(%4, %0)
  %6: f64[1, 1, 3, 5] = Cast(%5) {to = 11}
  %7: f64[1, 1, 3, 5] = Softmax(%6) {axis = 3}
  %8: f32[1, 1, 3, 5] = Cast(%7) {to = 1}
  %9: f32[1, 1, 5, 4] = Cast(%v) {to = 1}
  %10: f32[1, 1, 3, 4] = MatMul(%8, %9)
  %y: f16[1, 1, 3, 4] = Cast(%10) {to = 10}
}
)");
}

TEST(DecomposeFlexAttention, F64Stays) {
  expect_unchanged(
      decompose_flex_attention,
      R"(graph @main(%q: f64[1, 1, 3, 4], %k: f64[1, 1, 5, 4], %v: f64[1, 1, 5, 4]) -> (%y) {
  %y: f64[1, 1, 3, 4] = FlexAttention(%q, %k, %v)
}
)");
}

}  // namespace
}  // namespace sluice
