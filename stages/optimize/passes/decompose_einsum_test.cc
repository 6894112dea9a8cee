#include <gtest/gtest.h>

#include "stages/optimize/optimize_testing.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

TEST(DecomposeEinsum, ProductOfMatrices) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[N, 4, 6], %b: f32[N, 5, 6]) -> (%y) {
  %y: f32[N, 4, 5] = Einsum(%a, %b) {equation = "bik,bjk->bij"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[N, 4, 6], %b: f32[N, 5, 6]) -> (%y) {
  %0: f32[N, 6, 5] = Transpose(%b) {perm = [0, 2, 1]}
  %y: f32[N, 4, 5] = MatMul(%a, %0)
}
)");
}

TEST(DecomposeEinsum, RowsOfOpenDims) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %a, 1) in [1, *]
graph @main(%a: f32[N, M, 6], %b: f32[5, 6]) -> (%y) {
  %y: f32[N, M, 5] = Einsum(%a, %b) {equation = "bik,jk"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %a, 1) in [1, *]
graph @main(%a: f32[N, M, 6], %b: f32[5, 6]) -> (%y) {
  %0: f32[6, 5] = Transpose(%b) {perm = [1, 0]}
  %y: f32[N, M, 5] = MatMul(%a, %0)
}
)");
}

TEST(DecomposeEinsum, SeveralLettersOfRowsAndOfTheSum) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f32[2, 3, 4, 5], %b: f32[5, 4, 7]) -> (%y) {
  %y: f32[7, 3, 2] = Einsum(%a, %b) {equation = "abkl,lkc->cba"}
}
)",
                 R"(graph @main(%a: f32[2, 3, 4, 5], %b: f32[5, 4, 7]) -> (%y) {
  %0 = constant i64[2] [6, 20]
  %1 = constant i64[2] [20, 7]
  %2 = constant i64[3] [2, 3, 7]
  %3: f32[6, 20] = Reshape(%a, %0)
  %4: f32[4, 5, 7] = Transpose(%b) {perm = [1, 0, 2]}
  %5: f32[20, 7] = Reshape(%4, %1)
  %6: f32[6, 7] = MatMul(%3, %5)
  %7: f32[2, 3, 7] = Reshape(%6, %2)
  %y: f32[7, 3, 2] = Transpose(%7) {perm = [2, 1, 0]}
}
)");
}

TEST(DecomposeEinsum, ThreeOperandsWithDots) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f16[2, 3, 4], %b: f16[4], %c: f16[3, 5]) -> (%y) {
  %y: f16[2, 5] = Einsum(%a, %b, %c) {equation = "...ij,j,ik->...k"}
}
)",
                 R"(graph @main(%a: f16[2, 3, 4], %b: f16[4], %c: f16[3, 5]) -> (%y) {
  %0 = constant i64[2] [6, 4]
  %1 = constant i64[2] [4, 1]
  %2 = constant i64[2] [2, 3]
  %3: f32[2, 3, 4] = Cast(%a) {to = 1}
  %4: f32[4] = Cast(%b) {to = 1}
  %5: f32[6, 4] = Reshape(%3, %0)
  %6: f32[4, 1] = Reshape(%4, %1)
  %7: f32[6, 1] = MatMul(%5, %6)
  %8: f32[2, 3] = Reshape(%7, %2)
  %9: f32[3, 5] = Cast(%c) {to = 1}
  %10: f32[2, 5] = MatMul(%8, %9)
  %y: f16[2, 5] = Cast(%10) {to = 10}
}
)");
}

TEST(DecomposeEinsum, DoublesAreMultipliedAndSummed) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f64[5], %b: f64[5]) -> (%y) {
  %y: f64[] = Einsum(%a, %b) {equation = "i,i"}
}
)",
                 R"(graph @main(%a: f64[5], %b: f64[5]) -> (%y) {
  %0 = constant i64[1] [0]
  %1: f64[5] = Mul(%a, %b)
  %y: f64[] = ReduceSum(%1, %0) {keepdims = 0}
}
)");
}

TEST(DecomposeEinsum, DiagonalsAndLargeProductsStay) {
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f32[4, 4]) -> (%y) {
  %y: f32[4] = Einsum(%a) {equation = "ii->i"}
}
)");
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f64[4096], %b: f64[4096]) -> (%y) {
  %y: f64[4096, 4096] = Einsum(%a, %b) {equation = "i,j->ij"}
}
)");
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f32[2, 0], %b: f32[0, 2]) -> (%y) {
  %y: f32[] = Einsum(%a, %b) {equation = "ab,ba->"}
}
)");
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f32[2, 3], %b: f32[1, 3]) -> (%y) {
  %y: f32[2] = Einsum(%a, %b) {equation = "ij,ij->i"}
}
)");
}

}  // namespace
}  // namespace sluice
