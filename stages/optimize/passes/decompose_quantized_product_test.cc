#include <gtest/gtest.h>

#include "stages/optimize/optimize_testing.h"
#include "stages/optimize/passes/passes.h"

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
  %0 = constant f32[] [1]
  %1: f32[N, 4] = Cast(%a) {to = 1}
  %2: f32[] = Cast(%z) {to = 1}
  %3: f32[N, 4] = Sub(%1, %2)
  %4: f32[4, 3] = Cast(%b) {to = 1}
  %5: f32[] = Cast(%z) {to = 1}
  %6: f32[4, 3] = Sub(%4, %5)
  %7: f32[N, 3] = MatMul(%3, %6)
  %8: f64[] = Cast(%s) {to = 11}
  %9: f64[] = Cast(%s) {to = 11}
  %10: f64[] = Mul(%9, %8)
  %11: f64[N, 3] = Cast(%7) {to = 11}
  %12: f64[N, 3] = Mul(%11, %10)
  %13: f64[] = Cast(%s) {to = 11}
  %14: f64[N, 3] = Div(%12, %13)
  %15: f32[N, 3] = Cast(%14) {to = 1}
  %y: u8[N, 3] = QuantizeLinear(%15, %0, %z)
}
)");
}

TEST(DecomposeQuantizedProduct, ToIntegers) {
  expect_rewrite(decompose_quantized_product,
                 R"(graph @main(%x: i8[1, 2, 5, 5], %w: i8[3, 2, 3, 3]) -> (%y) {
  %y: i32[1, 3, 3, 3] = ConvInteger(%x, %w) {dilations = [1, 1]}
}
)",
                 R"(graph @main(%x: i8[1, 2, 5, 5], %w: i8[3, 2, 3, 3]) -> (%y) {
  %0: f32[1, 2, 5, 5] = Cast(%x) {to = 1}
  %1: f32[3, 2, 3, 3] = Cast(%w) {to = 1}
  %2: f32[1, 3, 3, 3] = Conv(%0, %1) {dilations = [1, 1]}
  %y: i32[1, 3, 3, 3] = Cast(%2) {to = 6}
}
)");
}

TEST(DecomposeQuantizedProduct, LongSumsStay) {
  expect_unchanged(decompose_quantized_product,
                   R"(graph @main(%a: u8[2, 259], %b: u8[259, 3]) -> (%y) {
  %y: i32[2, 3] = MatMulInteger(%a, %b)
}
)");
}

// The engine has kernels for weights that are constant.
TEST(DecomposeQuantizedProduct, WhatAnEngineTakesStays) {
  expect_unchanged(decompose_quantized_product, R"(graph @main(%a: u8[2, 2]) -> (%y) {
  %b = constant i8[2, 2] [1, 2, 3, 4]
  %y: i32[2, 2] = MatMulInteger(%a, %b)
}
)");
}

}  // namespace
}  // namespace sluice
