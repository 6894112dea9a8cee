#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

constexpr char kStatistics[] = R"(  %scale = constant f32[2] [1, 2]
  %shift = constant f32[2] [3, 4]
  %mean = constant f32[2] [5, 6]
  %variance = constant f32[2] [7, 8]
)";

TEST(FoldBatchNorm, IntoAConvolution) {
  expect_rewrite(fold_batch_norm,
                 std::string(R"(graph @main(%x: f32[1, 1, 4, 4]) -> (%y) {
  %w = constant f32[2, 1, 1, 1] [1, 2]
  %b = constant f32[2] [9, 10]
)") + kStatistics +
                     R"(  %a: f32[1, 2, 4, 4] = Conv(%x, %w, %b) {kernel_shape = [1, 1]} from "conv"
  %y: f32[1, 2, 4, 4] = BatchNormalization(%a, %scale, %shift, %mean, %variance) {epsilon = 0.5} from "norm"
}
)",
                 R"(constant $0 = f32[2, 1, 1, 1] [1, 2]
constant $1 = f32[2] [7, 8]
constant $2 = f32[2] [1, 2]
constant $3 = f32[2] [5, 6]
constant $4 = f32[2] [9, 10]
constant $5 = f32[2] [3, 4]
graph @main(%x: f32[1, 1, 4, 4]) -> (%y) {
  %y.weight = constant f32[2, 1, 1, 1] expression @y.weight($0, $1, $2)
  %y.bias = constant f32[2] expression @y.bias($3, $4, $1, $2, $5)
  %y: f32[1, 2, 4, 4] = Conv(%x, %y.weight, %y.bias) {kernel_shape = [1, 1]} from "conv", "norm"
}
graph @y.weight(%0: f32[2, 1, 1, 1], %1: f32[2], %2: f32[2]) -> (%9) expression {
  %3 = constant f32[] [0.5]
  %4 = constant i64[4] [2, 1, 1, 1]
  %5: f32[2] = Add(%1, %3)
  %6: f32[2] = Sqrt(%5)
  %7: f32[2] = Div(%2, %6)
  %8: f32[2, 1, 1, 1] = Reshape(%7, %4)
  %9: f32[2, 1, 1, 1] = Mul(%0, %8)
}
graph @y.bias(%0: f32[2], %1: f32[2], %2: f32[2], %3: f32[2], %4: f32[2]) -> (%11) expression {
  %5 = constant f32[] [0.5]
  %6: f32[2] = Sub(%1, %0)
  %7: f32[2] = Add(%2, %5)
  %8: f32[2] = Sqrt(%7)
  %9: f32[2] = Div(%3, %8)
  %10: f32[2] = Mul(%6, %9)
  %11: f32[2] = Add(%10, %4)
}
)");
}

TEST(FoldBatchNorm, IntoATransposedConvolution) {
  for (const std::string groups : {"1", "2"}) {
    expect_decomposed(
        fold_batch_norm,
        "graph @main(%x: f32[1, 4, 3, 3]) -> (%y) {\n  %w = constant f32[4, " +
            std::string(groups == "1" ? "2" : "1") + ", 1, 2] [1, 2, 3, 4, 5, 6, 7, 8" +
            (groups == "1" ? ", 9, 10, 11, 12, 13, 14, 15, 16" : "") + "]\n" + kStatistics +
            "  %a: f32[1, 2, 3, 4] = ConvTranspose(%x, %w) {group = " + groups +
            R"(}
  %y: f32[1, 2, 3, 4] = BatchNormalization(%a, %scale, %shift, %mean, %variance)
}
)",
        Op::kBatchNormalization);
  }
}

TEST(FoldBatchNorm, BehindSomethingElseItIsMulAndAdd) {
  expect_rewrite(fold_batch_norm,
                 std::string("graph @main(%x: f32[1, 2, 4, 4]) -> (%y) {\n") + kStatistics +
                     R"(  %a: f32[1, 2, 4, 4] = Relu(%x)
  %y: f32[1, 2, 4, 4] = BatchNormalization(%a, %scale, %shift, %mean, %variance)
}
)",
                 R"(constant $0 = f32[2] [7, 8]
constant $1 = f32[2] [1, 2]
constant $2 = f32[2] [5, 6]
constant $3 = f32[2] [3, 4]
graph @main(%x: f32[1, 2, 4, 4]) -> (%y) {
  %y.scale = constant f32[2, 1, 1] expression @y.scale($0, $1)
  %y.shift = constant f32[2, 1, 1] expression @y.shift($2, $0, $1, $3)
  %a: f32[1, 2, 4, 4] = Relu(%x)
  %0: f32[1, 2, 4, 4] = Mul(%a, %y.scale)
  %y: f32[1, 2, 4, 4] = Add(%0, %y.shift)
}
graph @y.scale(%0: f32[2], %1: f32[2]) -> (%7) expression {
  %2 = constant f32[] [1e-05]
  %3 = constant i64[3] [2, 1, 1]
  %4: f32[2] = Add(%0, %2)
  %5: f32[2] = Sqrt(%4)
  %6: f32[2] = Div(%1, %5)
  %7: f32[2, 1, 1] = Reshape(%6, %3)
}
graph @y.shift(%0: f32[2], %1: f32[2], %2: f32[2], %3: f32[2]) -> (%11) expression {
  %4 = constant f32[] [1e-05]
  %5 = constant i64[3] [2, 1, 1]
  %6: f32[2] = Add(%1, %4)
  %7: f32[2] = Sqrt(%6)
  %8: f32[2] = Div(%2, %7)
  %9: f32[2] = Mul(%0, %8)
  %10: f32[2] = Sub(%3, %9)
  %11: f32[2, 1, 1] = Reshape(%10, %5)
}
)");
}

TEST(FoldBatchNorm, BehindAProduct) {
  expect_rewrite(
      fold_batch_norm,
      std::string(
          "graph @main(%x: f32[3, 2]) -> (%y) {\n  %w = constant f32[2, 2] [1, 2, 3, 4]\n") +
          kStatistics +
          R"(  %a: f32[3, 2] = MatMul(%x, %w)
  %y: f32[3, 2] = BatchNormalization(%a, %scale, %shift, %mean, %variance)
}
)",
      R"(constant $0 = f32[2, 2] [1, 2, 3, 4]
constant $1 = f32[2] [7, 8]
constant $2 = f32[2] [1, 2]
constant $3 = f32[2] [5, 6]
constant $4 = f32[2] [3, 4]
graph @main(%x: f32[3, 2]) -> (%y) {
  %y.weight = constant f32[2, 2] expression @y.weight($0, $1, $2)
  %y.bias = constant f32[2] expression @y.bias($3, $1, $2, $4)
  %a: f32[3, 2] = MatMul(%x, %y.weight)
  %y: f32[3, 2] = Add(%a, %y.bias)
}
graph @y.weight(%0: f32[2, 2], %1: f32[2], %2: f32[2]) -> (%9) expression {
  %3 = constant f32[] [1e-05]
  %4 = constant i64[2] [1, 2]
  %5: f32[2] = Add(%1, %3)
  %6: f32[2] = Sqrt(%5)
  %7: f32[2] = Div(%2, %6)
  %8: f32[1, 2] = Reshape(%7, %4)
  %9: f32[2, 2] = Mul(%0, %8)
}
graph @y.bias(%0: f32[2], %1: f32[2], %2: f32[2], %3: f32[2]) -> (%10) expression {
  %4 = constant f32[] [1e-05]
  %5: f32[2] = Neg(%0)
  %6: f32[2] = Add(%1, %4)
  %7: f32[2] = Sqrt(%6)
  %8: f32[2] = Div(%2, %7)
  %9: f32[2] = Mul(%5, %8)
  %10: f32[2] = Add(%9, %3)
}
)");
}

// The factors are 2 and 0.5: the result is exact in both graphs.
TEST(FoldBatchNorm, OfHalvesItComputesInF32) {
  expect_rewrite(fold_batch_norm,
                 R"(graph @main(%x: f32[1, 1, 4, 4]) -> (%y) {
  %w = constant f16[2, 1, 1, 1] [1, 2]
  %scale = constant f16[2] [4, 1]
  %zero = constant f16[2] [0, 0]
  %variance = constant f32[2] [3.5, 3.5]
  %half: f16[1, 1, 4, 4] = Cast(%x) {to = 10}
  %a: f16[1, 2, 4, 4] = Conv(%half, %w)
  %b: f16[1, 2, 4, 4] = BatchNormalization(%a, %scale, %zero, %zero, %variance) {epsilon = 0.5}
  %y: f32[1, 2, 4, 4] = Cast(%b) {to = 1}
}
)",
                 R"(constant $0 = f16[2, 1, 1, 1] [1, 2]
constant $1 = f32[2] [3.5, 3.5]
constant $2 = f16[2] [4, 1]
constant $3 = f16[2] [0, 0]
graph @main(%x: f32[1, 1, 4, 4]) -> (%y) {
  %b.weight = constant f16[2, 1, 1, 1] expression @b.weight($0, $1, $2)
  %b.bias = constant f16[2] expression @b.bias($3, $1, $2)
  %half: f16[1, 1, 4, 4] = Cast(%x) {to = 10}
  %b: f16[1, 2, 4, 4] = Conv(%half, %b.weight, %b.bias)
  %y: f32[1, 2, 4, 4] = Cast(%b) {to = 1}
}
graph @b.weight(%0: f16[2, 1, 1, 1], %1: f32[2], %2: f16[2]) -> (%12) expression {
  %3 = constant f32[] [0.5]
  %4 = constant i64[4] [2, 1, 1, 1]
  %5: f32[2, 1, 1, 1] = Cast(%0) {to = 1}
  %6: f32[2] = Add(%1, %3)
  %7: f32[2] = Cast(%2) {to = 1}
  %8: f32[2] = Sqrt(%6)
  %9: f32[2] = Div(%7, %8)
  %10: f32[2, 1, 1, 1] = Reshape(%9, %4)
  %11: f32[2, 1, 1, 1] = Mul(%5, %10)
  %12: f16[2, 1, 1, 1] = Cast(%11) {to = 10}
}
graph @b.bias(%0: f16[2], %1: f32[2], %2: f16[2]) -> (%13) expression {
  %3 = constant f32[] [0.5]
  %4: f32[2] = Cast(%0) {to = 1}
  %5: f32[2] = Neg(%4)
  %6: f32[2] = Add(%1, %3)
  %7: f32[2] = Cast(%2) {to = 1}
  %8: f32[2] = Sqrt(%6)
  %9: f32[2] = Div(%7, %8)
  %10: f32[2] = Mul(%5, %9)
  %11: f32[2] = Cast(%0) {to = 1}
  %12: f32[2] = Add(%10, %11)
  %13: f16[2] = Cast(%12) {to = 10}
}
)");
}

TEST(FoldBatchNorm, OfHalvesBehindSomethingElseItStays) {
  // Weights times 300 may be beyond f16.
  expect_unchanged(fold_batch_norm, R"(graph @main(%x: f16[1, 2, 4, 4]) -> (%y) {
  %w = constant f16[2, 2, 1, 1] [300, 300, 1, 1]
  %one = constant f16[2] [1, 1]
  %zero = constant f16[2] [0, 0]
  %a: f16[1, 2, 4, 4] = Conv(%x, %w)
  %y: f16[1, 2, 4, 4] = BatchNormalization(%a, %one, %zero, %zero, %zero)
}
)");
  expect_unchanged(fold_batch_norm, R"(graph @main(%x: f16[1, 2, 4, 4]) -> (%y) {
  %v = constant f16[2] [1, 2]
  %a: f16[1, 2, 4, 4] = Relu(%x)
  %y: f16[1, 2, 4, 4] = BatchNormalization(%a, %v, %v, %v, %v)
}
)");
}

TEST(FoldBatchNorm, OneThatTrainsStays) {
  expect_unchanged(
      fold_batch_norm,
      std::string("graph @main(%x: f32[3, 2]) -> (%y, %m, %v) {\n") + kStatistics +
          R"(  %y: f32[3, 2], %m: f32[2], %v: f32[2] = BatchNormalization(%x, %scale, %shift, %mean, %variance) {training_mode = 1}
}
)");
}

}  // namespace
}  // namespace sluice
