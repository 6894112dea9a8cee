#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseRmsNormalization, Reciprocal) {
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Pow(%x, %two)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%1, %eps)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 1] = Reciprocal(%3)
  %5: f32[4, 8] = Mul(%x, %4)
  %y: f32[4, 8] = Mul(%w, %5)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %y: f32[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseRmsNormalization, QuotientAndProduct) {
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Mul(%x, %x)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%eps, %1)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %w)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %y: f32[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
}
)");
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
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f16[4, 8]) -> (%y) {
  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f16[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Cast(%x) {to = 1}
  %1: f32[4, 8] = Pow(%0, %two)
  %2: f32[4, 1] = ReduceMean(%1, %a) {keepdims = 1}
  %3: f32[4, 1] = Add(%2, %eps)
  %4: f32[4, 1] = Sqrt(%3)
  %5: f32[4, 1] = Reciprocal(%4)
  %6: f32[4, 8] = Mul(%0, %5)
  %7: f16[4, 8] = Cast(%6) {to = 10}
  %y: f16[4, 8] = Mul(%w, %7)
}
)",
                 R"(graph @main(%x: f16[4, 8]) -> (%y) {
  %w = constant f16[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %y: f16[4, 8] = RMSNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseRmsNormalization, TheCastBackAfterTheScale) {
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f16[4, 8]) -> (%y) {
  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Cast(%x) {to = 1}
  %1: f32[4, 8] = Pow(%0, %two)
  %2: f32[4, 1] = ReduceMean(%1, %a) {keepdims = 1}
  %3: f32[4, 1] = Add(%2, %eps)
  %4: f32[4, 1] = Sqrt(%3)
  %5: f32[4, 1] = Reciprocal(%4)
  %6: f32[4, 8] = Mul(%0, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f16[4, 8] = Cast(%7) {to = 10}
}
)",
                 R"(graph @main(%x: f16[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Cast(%x) {to = 1}
  %1: f32[4, 8] = RMSNormalization(%0, %w) {axis = -1, epsilon = 1e-05}
  %y: f16[4, 8] = Cast(%1) {to = 10}
}
)");
}

TEST(FuseRmsNormalization, WithoutAScale) {
  expect_rewrite(fuse_rms_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %0: f32[4, 8] = Pow(%x, %two)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%1, %eps)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %x)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0 = constant f32[] [1]
  %1: f32[4, 8] = RMSNormalization(%x, %0) {axis = -1, epsilon = 1e-05}
  %y: f32[4, 8] = Mul(%1, %x)
}
)");
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
  expect_unchanged(fuse_rms_normalization, R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %two = constant f32[] [2]
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = Pow(%x, %two)
  %1: f32[4, 1] = ReduceMean(%0, %a) {keepdims = 1}
  %2: f32[4, 1] = Add(%1, %eps)
  %3: f32[4, 1] = Sqrt(%2)
  %4: f32[4, 8] = Div(%x, %3)
  %y: f32[4, 8] = Mul(%4, %w)
  %z: f32[4, 1] = Neg(%1)
}
)");
}

}  // namespace
}  // namespace sluice
