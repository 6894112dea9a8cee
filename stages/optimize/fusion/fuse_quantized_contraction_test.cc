#include <gtest/gtest.h>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

TEST(FuseQuantizedContraction, DequantizedOperandsActivationAndQuantization) {
  expect_rewrite(fuse_quantized_contraction,
                 R"(graph @main(%x: u8[1, 2, 4, 4], %b: f32[3]) -> (%y, %z) {
  %w = constant i8[3, 2, 1, 1] [1, 2, 3, 4, 5, 6]
  %s = constant f32[3] [0.1, 0.2, 0.3]
  %t = constant f32[] [0.5]
  %zero = constant u8[] [7]
  %0: f32[1, 2, 4, 4] = DequantizeLinear(%x, %t, %zero) from "x"
  %1: f32[3, 2, 1, 1] = DequantizeLinear(%w, %s) {axis = 0} from "w"
  %2: f32[1, 3, 4, 4] = Conv(%0, %1, %b) from "conv"
  %3: f32[1, 3, 4, 4] = Relu(%2) from "relu"
  %y: u8[1, 3, 4, 4] = QuantizeLinear(%3, %t, %zero) from "y"
  %z: f32[1, 2, 4, 4] = Neg(%0)
}
)",
                 R"(graph @main(%x: u8[1, 2, 4, 4], %b: f32[3]) -> (%y, %z) {
  %w = constant i8[3, 2, 1, 1] [1, 2, 3, 4, 5, 6]
  %s = constant f32[3] [0.1, 0.2, 0.3]
  %t = constant f32[] [0.5]
  %zero = constant u8[] [7]
  %0: f32[1, 2, 4, 4] = DequantizeLinear(%x, %t, %zero) from "x"
  %y: u8[1, 3, 4, 4] = Fused(%x, %w, %s, %b) {anchor = 2, body = @y} from "x", "w", "conv", "relu", "y"
  %z: f32[1, 2, 4, 4] = Neg(%0)
}
graph @y(%x: u8[1, 2, 4, 4], %w: i8[3, 2, 1, 1], %s: f32[3], %b: f32[3]) -> (%y) fused {
  %t = constant f32[] [0.5]
  %zero = constant u8[] [7]
  %0: f32[1, 2, 4, 4] = DequantizeLinear(%x, %t, %zero) from "x"
  %1: f32[3, 2, 1, 1] = DequantizeLinear(%w, %s) {axis = 0} from "w"
  %2: f32[1, 3, 4, 4] = Conv(%0, %1, %b) from "conv"
  %3: f32[1, 3, 4, 4] = Relu(%2) from "relu"
  %y: u8[1, 3, 4, 4] = QuantizeLinear(%3, %t, %zero) from "y"
}
)");
}

TEST(FuseQuantizedContraction, WithoutQuantizationTheResultIsReal) {
  const std::string inputs = "%x: i8[4, 3]";
  const std::string kept = "  %w = constant i8[3, 2] [1, 2, 3, 4, 5, 6]\n";
  const std::string nodes = R"(  %s = constant f32[] [0.5]
  %0: f32[4, 3] = DequantizeLinear(%x, %s)
  %1: f32[3, 2] = DequantizeLinear(%w, %s)
  %y: f32[4, 2] = MatMul(%0, %1)
)";
  expect_rewrite(
      fuse_quantized_contraction, graph_of(inputs, kept + nodes),
      graph_of(inputs, kept + "  %y: f32[4, 2] = Fused(%x, %w) {anchor = 2, body = @y}\n") +
          body_of("%x: i8[4, 3], %w: i8[3, 2]", nodes));
}

TEST(FuseQuantizedContraction, SumsOfIntegersThatAreCast) {
  const std::string inputs = "%x: u8[4, 3], %zero: u8[], %s: f32[]";
  const std::string kept = "  %w = constant i8[3, 2] [1, 2, 3, 4, 5, 6]\n";
  const std::string nodes = R"(  %0: i32[4, 2] = MatMulInteger(%x, %w, %zero)
  %1: f32[4, 2] = Cast(%0) {to = 1}
  %y: f32[4, 2] = Mul(%1, %s)
)";
  expect_rewrite(
      fuse_quantized_contraction, graph_of(inputs, kept + nodes),
      graph_of(inputs,
               kept + "  %y: f32[4, 2] = Fused(%x, %w, %zero, %s) {anchor = 0, body = @y}\n") +
          body_of("%x: u8[4, 3], %w: i8[3, 2], %zero: u8[], %s: f32[]", nodes));
}

TEST(FuseQuantizedContraction, LeavesScalesAlongTheReduction) {
  expect_unchanged(fuse_quantized_contraction, R"(graph @main(%x: i8[4, 3]) -> (%y) {
  %w = constant i8[3, 2] [1, 2, 3, 4, 5, 6]
  %s = constant f32[3] [0.1, 0.2, 0.3]
  %t = constant f32[] [0.5]
  %0: f32[4, 3] = DequantizeLinear(%x, %t)
  %1: f32[3, 2] = DequantizeLinear(%w, %s) {axis = 0}
  %y: f32[4, 2] = MatMul(%0, %1)
}
)");
}

TEST(FuseQuantizedContraction, WeightsThatAreNoConstant) {
  const std::string inputs = "%x: i8[2, 4, 3], %w: i8[2, 3, 2]";
  const std::string nodes = R"(  %t = constant f32[] [0.5]
  %0: f32[2, 4, 3] = DequantizeLinear(%x, %t)
  %1: f32[2, 3, 2] = DequantizeLinear(%w, %t)
  %y: f32[2, 4, 2] = MatMul(%0, %1)
)";
  expect_rewrite(fuse_quantized_contraction, graph_of(inputs, nodes),
                 graph_of(inputs, "  %y: f32[2, 4, 2] = Fused(%x, %w) {anchor = 2, body = @y}\n") +
                     body_of(inputs, nodes));
}

// Such sums may be computed in pieces, after which nothing else is done.
TEST(FuseQuantizedContraction, LeavesSumsOfOpenLength) {
  expect_unchanged(fuse_quantized_contraction, R"(symbol K = dim(@main, %x, 1) in [1, *]
graph @main(%x: i8[4, K], %w: i8[K, 2]) -> (%y) {
  %0: i32[4, 2] = MatMulInteger(%x, %w)
  %y: f32[4, 2] = Cast(%0) {to = 1}
}
)");
}

}  // namespace
}  // namespace sluice
