#include <gtest/gtest.h>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

constexpr char kScales[] = "  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]\n";
constexpr char kRmsNormalization[] =
    "  %y: f32[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}\n";

// The root %3 of the mean of squares of %x.
constexpr char kRoot[] = R"(  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %0: f32[4, 8] = Pow(%x, %two)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%1, %eps)
  %3: f32[4, 1] = Sqrt(%2)
)";

// The same of halves, in f32: the values %0, the inverse root times them %6.
constexpr char kHalves[] = R"(  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %0: f32[4, 8] = Cast(%x) {to = 1}
  %1: f32[4, 8] = Pow(%0, %two)
  %2: f32[4, 1] = ReduceMean(%1, %a) {keepdims = 1}
  %3: f32[4, 1] = Add(%2, %eps)
  %4: f32[4, 1] = Sqrt(%3)
  %5: f32[4, 1] = Reciprocal(%4)
  %6: f32[4, 8] = Mul(%0, %5)
)";

TEST(FuseRmsNormalization, Reciprocal) {
  expect_rewrite(fuse_rms_normalization,
                 graph_of(kRows, std::string(kScales) + kRoot + R"(  %4: f32[4, 1] = Reciprocal(%3)
  %5: f32[4, 8] = Mul(%x, %4)
  %y: f32[4, 8] = Mul(%w, %5)
)"),
                 graph_of(kRows, std::string(kScales) + kRmsNormalization));
}

TEST(FuseRmsNormalization, QuotientAndProduct) {
  expect_rewrite(fuse_rms_normalization,
                 graph_of(kRows, std::string(kScales) + R"(  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %0: f32[4, 8] = Mul(%x, %x)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%eps, %1)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %w)
)"),
                 graph_of(kRows, std::string(kScales) + kRmsNormalization));
}

TEST(FuseRmsNormalization, InverseOfOneAndPower) {
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %one = constant f32[] [1]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %power = constant f32[] [-0.5]
  %0: f32[4, 8] = Mul(%x, %x)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%1, %eps)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 1] = Div(%one, %3)
  %5: f32[4, 8] = Mul(%4, %x)
  %y: f32[4, 8] = Mul(%5, %w)
  %6: f32[4, 8] = Mul(%y, %y)
  %7: f32[4, 1] = ReduceMean(%6, %a) {keepdims = 1}
  %8: f32[4, 1] = Add(%7, %eps)
  %9: f32[4, 1] = Pow(%8, %power)
  %10: f32[4, 8] = Mul(%y, %9)
  %z: f32[4, 8] = Mul(%10, %w)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %y: f32[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
  %z: f32[4, 8] = RMSNormalization(%y, %w) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseRmsNormalization, CastsAroundIt) {
  const std::string scale = "  %w = constant f16[8] [1, 2, 3, 4, 5, 6, 7, 8]\n";
  expect_rewrite(
      fuse_rms_normalization,
      graph_of("%x: f16[4, 8]", scale + kHalves + R"(  %7: f16[4, 8] = Cast(%6) {to = 10}
  %y: f16[4, 8] = Mul(%w, %7)
)"),
      graph_of(
          "%x: f16[4, 8]",
          scale + "  %y: f16[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}\n"));
}

TEST(FuseRmsNormalization, TheCastBackAfterTheScale) {
  const std::string scale = kScales;
  expect_rewrite(fuse_rms_normalization,
                 graph_of("%x: f16[4, 8]", scale + kHalves + R"(  %7: f32[4, 8] = Mul(%6, %w)
  %y: f16[4, 8] = Cast(%7) {to = 10}
)"),
                 graph_of("%x: f16[4, 8]", scale + R"(  %0: f32[4, 8] = Cast(%x) {to = 1}
  %1: f32[4, 8] = RMSNormalization(%0, %w) {axis = -1, epsilon = 1e-05}
  %y: f16[4, 8] = Cast(%1) {to = 10}
)"));
}

TEST(FuseRmsNormalization, WithoutAScale) {
  expect_rewrite(fuse_rms_normalization,
                 graph_of(kRows, std::string(kRoot) + R"(  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %x)
)"),
                 graph_of(kRows, R"(  %0 = constant f32[] [1]
  %1: f32[4, 8] = RMSNormalization(%x, %0) {axis = -1, epsilon = 1e-05}
  %y: f32[4, 8] = Mul(%1, %x)
)"));
}

TEST(FuseRmsNormalization, TheFirstAxisStays) {
  expect_unchanged(fuse_rms_normalization, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %two = constant f32[] [2]
  %a = constant i64[1] [0]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Pow(%x, %two)
  %1: f32[1, 8] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[1, 8] = Add(%1, %eps)
  %3: f32[1, 8] = Sqrt(%2)
  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %w)
}
)");
}

TEST(FuseRmsNormalization, AMeanThatIsReadElsewhereStays) {
  const std::string nodes = std::string(kScales) + kRoot + R"(  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %w)
  %z: f32[4, 1] = Neg(%1)
)";
  expect_unchanged(fuse_rms_normalization, graph_of(kRows, nodes, "%y, %z"));
}

}  // namespace
}  // namespace sluice
