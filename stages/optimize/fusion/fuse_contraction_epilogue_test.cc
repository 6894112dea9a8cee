#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseContractionEpilogue, BiasResidualAndActivation) {
  expect_rewrite(fuse_contraction_epilogue,
                 R"(graph @main(%x: f32[1, 2, 4, 4], %r: f32[1, 3, 4, 4]) -> (%y) {
  %w = constant f32[3, 2, 1, 1] [1, 2, 3, 4, 5, 6]
  %b = constant f32[3, 1, 1] [1, 2, 3]
  %0: f32[1, 3, 4, 4] = Conv(%x, %w) from "conv"
  %1: f32[1, 3, 4, 4] = Add(%b, %0) from "bias"
  %2: f32[1, 3, 4, 4] = Add(%1, %r) from "residual"
  %y: f32[1, 3, 4, 4] = Relu(%2) from "relu"
}
)",
                 R"(graph @main(%x: f32[1, 2, 4, 4], %r: f32[1, 3, 4, 4]) -> (%y) {
  %w = constant f32[3, 2, 1, 1] [1, 2, 3, 4, 5, 6]
  %b = constant f32[3, 1, 1] [1, 2, 3]
  %y: f32[1, 3, 4, 4] = Fused(%x, %w, %b, %r) {anchor = 0, body = @y} from "conv", "bias", "residual", "relu"
}
graph @y(%x: f32[1, 2, 4, 4], %w: f32[3, 2, 1, 1], %b: f32[3, 1, 1], %r: f32[1, 3, 4, 4]) -> (%y) fused {
  %0: f32[1, 3, 4, 4] = Conv(%x, %w) from "conv"
  %1: f32[1, 3, 4, 4] = Add(%b, %0) from "bias"
  %2: f32[1, 3, 4, 4] = Add(%1, %r) from "residual"
  %y: f32[1, 3, 4, 4] = Relu(%2) from "relu"
}
)");
}

// A graph that no inference has seen may have such operands.
TEST(FuseContractionEpilogue, OperandsWithoutAxesAreLeftAlone) {
  expect_unchanged(fuse_contraction_epilogue,
                   R"(graph @main(%x: f32[], %w: f32[2, 2]) -> (%y) {
  %0: f32[2, 2] = MatMul(%x, %w)
  %y: f32[2, 2] = Relu(%0)
}
)");
}

TEST(FuseContractionEpilogue, GeluReadsItsInputTwice) {
  expect_rewrite(fuse_contraction_epilogue,
                 R"(graph @main(%x: f32[4, 8], %w: f32[8, 16]) -> (%y) {
  %root = constant f32[] [1.4142135]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 16] = MatMul(%x, %w)
  %1: f32[4, 16] = Div(%0, %root)
  %2: f32[4, 16] = Erf(%1)
  %3: f32[4, 16] = Add(%2, %one)
  %4: f32[4, 16] = Mul(%0, %3)
  %y: f32[4, 16] = Mul(%4, %half)
}
)",
                 R"(graph @main(%x: f32[4, 8], %w: f32[8, 16]) -> (%y) {
  %y: f32[4, 16] = Fused(%x, %w) {anchor = 0, body = @y}
}
graph @y(%x: f32[4, 8], %w: f32[8, 16]) -> (%y) fused {
  %root = constant f32[] [1.4142135]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 16] = MatMul(%x, %w)
  %1: f32[4, 16] = Div(%0, %root)
  %2: f32[4, 16] = Erf(%1)
  %3: f32[4, 16] = Add(%2, %one)
  %4: f32[4, 16] = Mul(%0, %3)
  %y: f32[4, 16] = Mul(%4, %half)
}
)");
}

}  // namespace
}  // namespace sluice
