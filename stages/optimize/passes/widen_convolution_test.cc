#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(WidenConvolution, WithItsAttributes) {
  expect_rewrite(widen_convolution,
                 R"(graph @main(%x: f32[2, 4, 9], %w: f32[6, 2, 3], %b: f32[6]) -> (%y) {
  %y: f32[2, 6, 4] = Conv(%x, %w, %b) {dilations = [2], group = 2, kernel_shape = [3], pads = [1, 2], strides = [2]}
}
)",
                 R"(graph @main(%x: f32[2, 4, 9], %w: f32[6, 2, 3], %b: f32[6]) -> (%y) {
  %0 = constant i64[4] [2, 4, 1, 9]
  %1 = constant i64[4] [6, 2, 1, 3]
  %2 = constant i64[3] [2, 6, 4]
  %3: f32[2, 4, 1, 9] = Reshape(%x, %0)
  %4: f32[6, 2, 1, 3] = Reshape(%w, %1)
  %5: f32[2, 6, 1, 4] = Conv(%3, %4, %b) {dilations = [1, 2], group = 2, kernel_shape = [1, 3], pads = [0, 1, 0, 2], strides = [1, 2]}
  %y: f32[2, 6, 4] = Reshape(%5, %2)
}
)");
}

TEST(WidenConvolution, OfHalves) {
  expect_rewrite(widen_convolution,
                 R"(graph @main(%x: f16[2, 4, 9], %w: f16[4, 1, 3]) -> (%y) {
  %y: f16[2, 4, 7] = Conv(%x, %w) {group = 4}
}
)",
                 R"(graph @main(%x: f16[2, 4, 9], %w: f16[4, 1, 3]) -> (%y) {
  %0 = constant i64[4] [2, 4, 1, 9]
  %1 = constant i64[4] [4, 1, 1, 3]
  %2 = constant i64[3] [2, 4, 7]
  %3: f16[2, 4, 1, 9] = Reshape(%x, %0)
  %4: f16[4, 1, 1, 3] = Reshape(%w, %1)
  %5: f16[2, 4, 1, 7] = Conv(%3, %4) {group = 4}
  %y: f16[2, 4, 7] = Reshape(%5, %2)
}
)");
}

// What alone reads the result follows it, with other operands.
TEST(WidenConvolution, WithElementwiseReaders) {
  expect_rewrite(widen_convolution,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol L = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[N, 4, L], %w: f32[6, 4, 1], %r: f32[N, 6, L], %c: f32[6, 1]) -> (%y) {
  %0: f32[N, 6, L] = Conv(%x, %w)
  %1: f32[N, 6, L] = Add(%r, %0)
  %2: f32[N, 6, L] = Mul(%1, %c)
  %3: f32[N, 6, L] = Relu(%2)
  %y: f32[N, 6, 1] = ReduceMax(%3)
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol L = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[N, 4, L], %w: f32[6, 4, 1], %r: f32[N, 6, L], %c: f32[6, 1]) -> (%y) {
  %0 = constant i64[4] [0, 4, 1, -1]
  %1 = constant i64[4] [6, 4, 1, 1]
  %2 = constant i64[4] [0, 6, 1, -1]
  %3 = constant i64[3] [6, 1, 1]
  %4 = constant i64[3] [0, 6, -1]
  %5: f32[N, 4, 1, L] = Reshape(%x, %0)
  %6: f32[6, 4, 1, 1] = Reshape(%w, %1)
  %7: f32[N, 6, 1, L] = Conv(%5, %6)
  %8: f32[N, 6, 1, L] = Reshape(%r, %2)
  %9: f32[N, 6, 1, L] = Add(%8, %7)
  %10: f32[6, 1, 1] = Reshape(%c, %3)
  %11: f32[N, 6, 1, L] = Mul(%9, %10)
  %12: f32[N, 6, 1, L] = Relu(%11)
  %13: f32[N, 6, L] = Reshape(%12, %4)
  %y: f32[N, 6, 1] = ReduceMax(%13)
}
)");
}

// A node that broadcasts the result does not follow.
TEST(WidenConvolution, NotWithBroadcastResults) {
  expect_rewrite(widen_convolution,
                 R"(graph @main(%x: f32[1, 4, 9], %w: f32[6, 4, 3], %r: f32[2, 6, 7]) -> (%y) {
  %0: f32[1, 6, 7] = Conv(%x, %w)
  %y: f32[2, 6, 7] = Add(%0, %r)
}
)",
                 R"(graph @main(%x: f32[1, 4, 9], %w: f32[6, 4, 3], %r: f32[2, 6, 7]) -> (%y) {
  %0 = constant i64[4] [1, 4, 1, 9]
  %1 = constant i64[4] [6, 4, 1, 3]
  %2 = constant i64[3] [1, 6, 7]
  %3: f32[1, 4, 1, 9] = Reshape(%x, %0)
  %4: f32[6, 4, 1, 3] = Reshape(%w, %1)
  %5: f32[1, 6, 1, 7] = Conv(%3, %4)
  %6: f32[1, 6, 7] = Reshape(%5, %2)
  %y: f32[2, 6, 7] = Add(%6, %r)
}
)");
}

TEST(WidenConvolution, ImagesAndOtherDtypesStay) {
  expect_unchanged(widen_convolution,
                   R"(graph @main(%x: f32[2, 4, 9, 9], %w: f32[6, 4, 3, 3]) -> (%y) {
  %y: f32[2, 6, 7, 7] = Conv(%x, %w)
}
)");
  expect_unchanged(widen_convolution,
                   R"(graph @main(%x: f32[2, 4, 9], %w: f32[6, 4, 3]) -> (%y) {
  %y: f32[2, 6, 0] = Conv(%x, %w) {pads = [-3, -4]}
}
)");
  expect_unchanged(widen_convolution, R"(graph @main(%x: f64[2, 4, 9], %w: f64[6, 4, 3]) -> (%y) {
  %y: f64[2, 6, 7] = Conv(%x, %w)
}
)");
}

}  // namespace
}  // namespace sluice
