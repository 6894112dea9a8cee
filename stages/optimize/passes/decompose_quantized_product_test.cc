#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DecomposeQuantizedProduct, OfScalesKnownWhileRunning) {
  expect_rewrite(decompose_quantized_product,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: u8[N, 4], %s: f32[], %z: u8[], %b: u8[4, 3]) -> (%y) {
  %y: u8[N, 3] = QLinearMatMul(%a, %s, %z, %b, %s, %z, %s, %z)
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: u8[N, 4], %s: f32[], %z: u8[], %b: u8[4, 3]) -> (%y) {
  %0: i32[N, 3] = MatMulInteger(%a, %b, %z, %z)
  %1: f32[N, 3] = Cast(%0) {to = 1}
  %2: f32[] = Mul(%s, %s)
  %3: f32[N, 3] = Mul(%1, %2)
  %y: u8[N, 3] = QuantizeLinear(%3, %s, %z)
}
)");
}

TEST(DecomposeQuantizedProduct, OfAConvolutionWithScalesOfChannels) {
  expect_rewrite(decompose_quantized_product,
                 R"(graph @main(%x: u8[1, 2, 5, 5], %s: f32[], %z: u8[]) -> (%y) {
  %w = constant i8[2, 2, 1, 1] [1, 2, 3, 4]
  %sw = constant f32[2] [1, 2]
  %zw = constant i8[] [0]
  %b = constant i32[2] [5, 6]
  %y: u8[1, 2, 5, 5] = QLinearConv(%x, %s, %z, %w, %sw, %zw, %s, %z, %b)
}
)",
                 R"(graph @main(%x: u8[1, 2, 5, 5], %s: f32[], %z: u8[]) -> (%y) {
  %w = constant i8[2, 2, 1, 1] [1, 2, 3, 4]
  %sw = constant f32[2] [1, 2]
  %zw = constant i8[] [0]
  %b = constant i32[2] [5, 6]
  %0 = constant i64[3] [2, 1, 1]
  %1 = constant i64[3] [2, 1, 1]
  %2: i32[1, 2, 5, 5] = ConvInteger(%x, %w, %z, %zw)
  %3: f32[1, 2, 5, 5] = Cast(%2) {to = 1}
  %4: f32[2] = Cast(%b) {to = 1}
  %5: f32[2, 1, 1] = Reshape(%4, %0)
  %6: f32[1, 2, 5, 5] = Add(%3, %5)
  %7: f32[2, 1, 1] = Reshape(%sw, %1)
  %8: f32[2, 1, 1] = Mul(%s, %7)
  %9: f32[1, 2, 5, 5] = Mul(%6, %8)
  %y: u8[1, 2, 5, 5] = QuantizeLinear(%9, %s, %z)
}
)");
}

TEST(DecomposeQuantizedProduct, ToFloats) {
  expect_rewrite(decompose_quantized_product,
                 R"(graph @main(%x: i8[1, 2, 5], %w: i8[3, 2, 3]) -> (%y) {
  %y: i32[1, 3, 3] = ConvInteger(%x, %w) {dilations = [1]}
}
)",
                 R"(graph @main(%x: i8[1, 2, 5], %w: i8[3, 2, 3]) -> (%y) {
  %0: f32[1, 2, 5] = Cast(%x) {to = 1}
  %1: f32[3, 2, 3] = Cast(%w) {to = 1}
  %2: f32[1, 3, 3] = Conv(%0, %1) {dilations = [1]}
  %y: i32[1, 3, 3] = Cast(%2) {to = 6}
}
)");
}

TEST(DecomposeQuantizedProduct, LongSumsStay) {
  expect_unchanged(decompose_quantized_product,
                   R"(graph @main(%x: u8[1, 259, 5], %w: u8[3, 259, 1]) -> (%y) {
  %y: i32[1, 3, 5] = ConvInteger(%x, %w)
}
)");
}

// Weights need not be constants.
TEST(DecomposeQuantizedProduct, WhatAnEngineTakesStays) {
  expect_unchanged(decompose_quantized_product, R"(graph @main(%a: u8[2, 2], %b: i8[2, 2]) -> (%y) {
  %y: i32[2, 2] = MatMulInteger(%a, %b)
}
)");
}

}  // namespace
}  // namespace sluice
