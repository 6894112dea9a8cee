#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DecomposeCausalConvolution, WithAState) {
  expect_rewrite(
      decompose_causal_convolution,
      R"(graph @main(%x: f32[2, 4, 9], %w: f32[4, 1, 3], %b: f32[4], %p: f32[2, 4, 2]) -> (%y, %s) {
  %y: f32[2, 4, 9], %s: f32[2, 4, 2] = CausalConvWithState(%x, %w, %b, %p) {activation = "silu"}
}
)",
      R"(graph @main(%x: f32[2, 4, 9], %w: f32[4, 1, 3], %b: f32[4], %p: f32[2, 4, 2]) -> (%y, %s) {
  %0 = constant i64[1] [-2]
  %1 = constant i64[1] [9223372036854775807]
  %2 = constant i64[1] [2]
  %3: f32[2, 4, 11] = Concat(%p, %x) {axis = 2}
  %4: f32[2, 4, 9] = Conv(%3, %w, %b) {group = 4}
  %y: f32[2, 4, 9] = Swish(%4)
  %s: f32[2, 4, 2] = Slice(%3, %0, %1, %2)
}
)");
}

// Without a past there are zeros; sums are in f32.
TEST(DecomposeCausalConvolution, WithoutAState) {
  expect_rewrite(decompose_causal_convolution,
                 R"(symbol L = dim(@main, %x, 2) in [1, *]
graph @main(%x: f16[2, 4, L], %w: f16[4, 1, 3]) -> (%y) {
  %y: f16[2, 4, L], %0: f16[2, 4, 2] = CausalConvWithState(%x, %w)
}
)",
                 R"(symbol L = dim(@main, %x, 2) in [1, *]
graph @main(%x: f16[2, 4, L], %w: f16[4, 1, 3]) -> (%y) {
  %0 = constant i64[6] [0, 0, 2, 0, 0, 0]
  %1: f16[2, 4, L + 2] = Pad(%x, %0)
  %2: f32[2, 4, L + 2] = Cast(%1) {to = 1}
  %3: f32[4, 1, 3] = Cast(%w) {to = 1}
  %4: f32[2, 4, L] = Conv(%2, %3) {group = 4}
  %y: f16[2, 4, L] = Cast(%4) {to = 10}
}
)");
}

// An input that is shorter than the state, and a filter of one element, whose state is empty.
TEST(DecomposeCausalConvolution, ShortLines) {
  for (const char* nodes :
       {"%x: f32[2, 4, 1], %w: f32[4, 1, 4]) -> (%y, %s) {\n  %y: f32[2, 4, 1], %s: f32[2, 4, 3]",
        "%x: f32[2, 4, 5], %w: f32[4, 1, 1]) -> (%y, %s) {\n  %y: f32[2, 4, 5], %s: f32[2, 4, 0]"})
    expect_decomposed(decompose_causal_convolution,
                      "graph @main(" + std::string(nodes) + " = CausalConvWithState(%x, %w)\n}\n",
                      Op::kCausalConvWithState);
}

}  // namespace
}  // namespace sluice
