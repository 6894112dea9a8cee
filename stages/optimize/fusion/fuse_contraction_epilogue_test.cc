#include <gtest/gtest.h>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

TEST(FuseContractionEpilogue, BiasResidualAndActivation) {
  const std::string inputs = "%x: f32[1, 2, 4, 4], %r: f32[1, 3, 4, 4]";
  const std::string kept = R"(  %w = constant f32[3, 2, 1, 1] [1, 2, 3, 4, 5, 6]
  %b = constant f32[3, 1, 1] [1, 2, 3]
)";
  const std::string nodes = R"(  %0: f32[1, 3, 4, 4] = Conv(%x, %w) from "conv"
  %1: f32[1, 3, 4, 4] = Add(%b, %0) from "bias"
  %2: f32[1, 3, 4, 4] = Add(%1, %r) from "residual"
  %y: f32[1, 3, 4, 4] = Relu(%2) from "relu"
)";
  expect_rewrite(
      fuse_contraction_epilogue, graph_of(inputs, kept + nodes),
      graph_of(
          inputs,
          kept +
              R"(  %y: f32[1, 3, 4, 4] = Fused(%x, %w, %b, %r) {anchor = 0, body = @y} from "conv", "bias", "residual", "relu"
)") + body_of("%x: f32[1, 2, 4, 4], %w: f32[3, 2, 1, 1], %b: f32[3, 1, 1], %r: f32[1, 3, 4, 4]",
              nodes));
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
  const std::string inputs = "%x: f32[4, 8], %w: f32[8, 16]";
  const std::string nodes = R"(  %root = constant f32[] [1.4142135]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 16] = MatMul(%x, %w)
  %1: f32[4, 16] = Div(%0, %root)
  %2: f32[4, 16] = Erf(%1)
  %3: f32[4, 16] = Add(%2, %one)
  %4: f32[4, 16] = Mul(%0, %3)
  %y: f32[4, 16] = Mul(%4, %half)
)";
  expect_rewrite(fuse_contraction_epilogue, graph_of(inputs, nodes),
                 graph_of(inputs, "  %y: f32[4, 16] = Fused(%x, %w) {anchor = 0, body = @y}\n") +
                     body_of(inputs, nodes));
}

}  // namespace
}  // namespace sluice
