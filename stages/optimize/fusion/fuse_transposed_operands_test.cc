#include <gtest/gtest.h>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

TEST(FuseTransposedOperands, Keys) {
  const std::string inputs = "%q: f32[1, 2, 3, 4], %k: f32[1, 2, 5, 4]";
  const std::string nodes =
      R"(  %0: f32[1, 2, 4, 5] = Transpose(%k) {perm = [0, 1, 3, 2]} from "turn"
  %y: f32[1, 2, 3, 5] = MatMul(%q, %0) from "product"
)";
  expect_rewrite(
      fuse_transposed_operands, graph_of(inputs, nodes),
      graph_of(
          inputs,
          R"(  %y: f32[1, 2, 3, 5] = Fused(%q, %k) {anchor = 1, body = @y} from "turn", "product"
)") + body_of(inputs, nodes));
}

TEST(FuseTransposedOperands, BothOperandsOfAnAnchorWithAnEpilogue) {
  expect_rewrite(fuse_transposed_operands,
                 R"(graph @main(%q: f32[2, 3, 4, 5], %k: f32[2, 6, 4, 5], %m: f32[3, 6]) -> (%z) {
  %0: f32[2, 4, 3, 5] = Transpose(%q) {perm = [0, 2, 1, 3]} from "queries"
  %1: f32[2, 4, 5, 6] = Transpose(%k) {perm = [0, 2, 3, 1]} from "keys"
  %y: f32[2, 4, 3, 6] = Fused(%0, %1) {anchor = 0, body = @y} from "product", "relu"
  %z: f32[2, 4, 3, 6] = Add(%y, %m)
}
graph @y(%0: f32[2, 4, 3, 5], %1: f32[2, 4, 5, 6]) -> (%y) fused {
  %2: f32[2, 4, 3, 6] = MatMul(%0, %1) from "product"
  %y: f32[2, 4, 3, 6] = Relu(%2) from "relu"
}
)",
                 R"(graph @main(%q: f32[2, 3, 4, 5], %k: f32[2, 6, 4, 5], %m: f32[3, 6]) -> (%z) {
  %y: f32[2, 4, 3, 6] = Fused(%q, %k) {anchor = 2, body = @y} from "queries", "keys", "product", "relu"
  %z: f32[2, 4, 3, 6] = Add(%y, %m)
}
graph @y(%q: f32[2, 3, 4, 5], %k: f32[2, 6, 4, 5]) -> (%y) fused {
  %0: f32[2, 4, 3, 5] = Transpose(%q) {perm = [0, 2, 1, 3]} from "queries"
  %1: f32[2, 4, 5, 6] = Transpose(%k) {perm = [0, 2, 3, 1]} from "keys"
  %2: f32[2, 4, 3, 6] = MatMul(%0, %1) from "product"
  %y: f32[2, 4, 3, 6] = Relu(%2) from "relu"
}
)");
}

TEST(FuseTransposedOperands, SeveralReadersAndOneOnBothSides) {
  expect_rewrite(fuse_transposed_operands,
                 R"(graph @main(%x: f32[3, 3], %w: f32[3, 2]) -> (%y, %z) {
  %0: f32[3, 3] = Transpose(%x)
  %y: f32[3, 3] = MatMul(%0, %0)
  %z: f32[3, 2] = Gemm(%0, %w)
}
)",
                 R"(graph @main(%x: f32[3, 3], %w: f32[3, 2]) -> (%y, %z) {
  %y: f32[3, 3] = Fused(%x, %x) {anchor = 2, body = @y}
  %z: f32[3, 2] = Fused(%x, %w) {anchor = 1, body = @z}
}
graph @y(%x: f32[3, 3], %x~1: f32[3, 3]) -> (%y) fused {
  %0: f32[3, 3] = Transpose(%x)
  %1: f32[3, 3] = Transpose(%x~1)
  %y: f32[3, 3] = MatMul(%0, %1)
}
graph @z(%x: f32[3, 3], %w: f32[3, 2]) -> (%z) fused {
  %0: f32[3, 3] = Transpose(%x)
  %z: f32[3, 2] = Gemm(%0, %w)
}
)");
}

TEST(FuseTransposedOperands, AnotherReaderKeepsIt) {
  expect_unchanged(fuse_transposed_operands,
                   R"(graph @main(%a: f32[3, 4], %x: f32[5, 4]) -> (%y, %z) {
  %0: f32[4, 5] = Transpose(%x)
  %y: f32[3, 5] = MatMul(%a, %0)
  %z: f32[4, 5] = Relu(%0)
}
)");
  expect_unchanged(fuse_transposed_operands,
                   R"(graph @main(%a: f32[3, 4], %x: f32[5, 4]) -> (%y, %0) {
  %0: f32[4, 5] = Transpose(%x)
  %y: f32[3, 5] = MatMul(%a, %0)
}
)");
}

// The operand of the epilogue and the bias are not matrices.
TEST(FuseTransposedOperands, OnlyMatrices) {
  expect_unchanged(fuse_transposed_operands,
                   R"(graph @main(%a: f32[3, 4], %b: f32[4, 5], %x: f32[5, 3]) -> (%y, %z) {
  %0: f32[3, 5] = Transpose(%x)
  %y: f32[3, 5] = Fused(%a, %b, %0) {anchor = 0, body = @y}
  %z: f32[3, 5] = Gemm(%a, %b, %0)
}
graph @y(%a: f32[3, 4], %b: f32[4, 5], %0: f32[3, 5]) -> (%y) fused {
  %1: f32[3, 5] = MatMul(%a, %b)
  %y: f32[3, 5] = Add(%1, %0)
}
)");
}

TEST(FuseTransposedOperands, NotWhereNeighboursAreScattered) {
  expect_unchanged(fuse_transposed_operands,
                   R"(graph @main(%a: f32[2, 3, 4], %x: f32[4, 5, 2]) -> (%y) {
  %0: f32[2, 4, 5] = Transpose(%x) {perm = [2, 0, 1]}
  %y: f32[2, 3, 5] = MatMul(%a, %0)
}
)");
}

TEST(FuseTransposedOperands, NotSumsTooLongToPack) {
  expect_unchanged(fuse_transposed_operands,
                   R"(graph @main(%a: f32[3, 16385], %x: f32[5, 16385]) -> (%y) {
  %0: f32[16385, 5] = Transpose(%x)
  %y: f32[3, 5] = MatMul(%a, %0)
}
)");
}

}  // namespace
}  // namespace sluice
