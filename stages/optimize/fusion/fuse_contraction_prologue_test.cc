#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/optimize_testing.h"

namespace sluice {
namespace {

// 16 rows of 8 numbers.
const std::string kSymbol = "symbol N = dim(@main, %a, 0) in [1, *]\n";
const std::string kWeight = "  %w = constant f32[16, 8] splat 0.5\n";

TEST(FuseContractionPrologue, OfAProduct) {
  expect_rewrite(
      fuse_contraction_prologue,
      "graph @main(%gate: f32[4, 16], %up: f32[4, 16]) -> (%y) {\n" + kWeight +
          R"(  %0: f32[4, 16] = Mul(%gate, %up) from "mul"
  %y: f32[4, 8] = MatMul(%0, %w) from "product"
}
)",
      "graph @main(%gate: f32[4, 16], %up: f32[4, 16]) -> (%y) {\n" + kWeight +
          R"(  %y: f32[4, 8] = Fused(%gate, %w, %up) {anchor = 1, body = @y} from "product", "mul"
}
graph @y(%gate: f32[4, 16], %w: f32[16, 8], %up: f32[4, 16]) -> (%y) fused {
  %0: f32[4, 16] = Mul(%gate, %up) from "mul"
  %y: f32[4, 8] = MatMul(%0, %w) from "product"
}
)");
}

TEST(FuseContractionPrologue, WhatOthersReadOrSumsStayAlone) {
  const auto expect_alone = [](const std::string& inputs, const std::string& nodes) {
    expect_unchanged(fuse_contraction_prologue,
                     "graph @main(" + inputs + ") -> (%y) {\n" + kWeight + nodes + "}\n");
  };
  expect_alone("%x: f32[4, 16]", R"(  %0: f32[4, 16] = Relu(%x)
  %1: f32[4, 8] = MatMul(%0, %w)
  %2: f32[4, 8] = MatMul(%0, %w)
  %y: f32[4, 8] = Add(%1, %2)
)");
  expect_alone("%x: f32[4, 16]", R"(  %0: f32[4, 16] = Softmax(%x)
  %y: f32[4, 8] = MatMul(%0, %w)
)");
  // The matrix is no constant.
  expect_alone("%x: f32[4, 16], %b: f32[16, 8]", R"(  %0: f32[4, 16] = Relu(%x)
  %1: f32[16, 8] = Add(%b, %w)
  %y: f32[4, 8] = MatMul(%0, %1)
)");
  expect_alone("%x: f32[16, 4]", R"(  %0: f32[16, 4] = Relu(%x)
  %y: f32[4, 8] = Gemm(%0, %w) {transA = 1}
)");
}

TEST(FuseContractionPrologue, OnlyConvolutionsThatAreProducts) {
  const auto text = [](const std::string& kernel, const std::string& result) {
    return "graph @main(%x: f32[1, 16, 4, 4]) -> (%y) {\n  %w = constant f32[8, 16, " + kernel +
           "] splat 0.5\n  %0: f32[1, 16, 4, 4] = Relu(%x)\n  %y: " + result +
           " = Conv(%0, %w)\n}\n";
  };
  expect_unchanged(fuse_contraction_prologue, text("3, 3", "f32[1, 8, 2, 2]"));
  expect_rewrite(fuse_contraction_prologue, text("1, 1", "f32[1, 8, 4, 4]"),
                 R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y) {
  %w = constant f32[8, 16, 1, 1] splat 0.5
  %y: f32[1, 8, 4, 4] = Fused(%x, %w) {anchor = 1, body = @y}
}
graph @y(%x: f32[1, 16, 4, 4], %w: f32[8, 16, 1, 1]) -> (%y) fused {
  %0: f32[1, 16, 4, 4] = Relu(%x)
  %y: f32[1, 8, 4, 4] = Conv(%0, %w)
}
)");
}

// The contraction has an epilogue, and what computes its operand is a Fused node.
TEST(FuseContractionPrologue, BodiesAreJoined) {
  expect_rewrite(fuse_contraction_prologue,
                 kSymbol + "graph @main(%a: f32[N, 8], %b: f32[N, 8]) -> (%y) {\n" + kWeight +
                     R"(  %0: f32[N, 16] = Fused(%a, %b) {body = @0}
  %y: f32[N, 8] = Fused(%0, %w) {anchor = 0, body = @y}
}
graph @0(%a: f32[N, 8], %b: f32[N, 8]) -> (%1) fused {
  %0: f32[N, 16] = Concat(%a, %b) {axis = 1}
  %1: f32[N, 16] = Relu(%0)
}
graph @y(%0: f32[N, 16], %w: f32[16, 8]) -> (%y) fused {
  %1: f32[N, 8] = MatMul(%0, %w)
  %y: f32[N, 8] = Relu(%1)
}
)",
                 kSymbol + "graph @main(%a: f32[N, 8], %b: f32[N, 8]) -> (%y) {\n" + kWeight +
                     R"(  %y: f32[N, 8] = Fused(%a, %w, %b) {anchor = 2, body = @y}
}
graph @y(%a: f32[N, 8], %w: f32[16, 8], %b: f32[N, 8]) -> (%y) fused {
  %0: f32[N, 16] = Concat(%a, %b) {axis = 1}
  %1: f32[N, 16] = Relu(%0)
  %2: f32[N, 8] = MatMul(%1, %w)
  %y: f32[N, 8] = Relu(%2)
}
)");
}

}  // namespace
}  // namespace sluice
