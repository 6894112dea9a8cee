#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseSoftmax, Quotient) {
  expect_rewrite(fuse_softmax,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceMax(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
  %y: f32[4, 8] = Div(%2, %3)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = Softmax(%x) {axis = 1}
}
)");
}

TEST(FuseSoftmax, ProductWithAReciprocal) {
  expect_rewrite(fuse_softmax,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceMax(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Reciprocal(%3)
  %y: f32[4, 8] = Mul(%2, %4)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = Softmax(%x) {axis = 1}
}
)");
}

TEST(FuseSoftmax, LogarithmOfTheSum) {
  expect_rewrite(fuse_softmax,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceMax(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Log(%3)
  %y: f32[4, 8] = Sub(%1, %4)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = LogSoftmax(%x) {axis = 1}
}
)");
}

TEST(FuseSoftmax, LogSumExp) {
  expect_rewrite(fuse_softmax,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceLogSumExp(%x, %a) {keepdims = 1}
  %y: f32[4, 8] = Sub(%x, %0)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = LogSoftmax(%x) {axis = 1}
}
)");
}

TEST(FuseSoftmax, AnotherAxisStays) {
  expect_unchanged(fuse_softmax, R"(graph @main(%x: f32[4, 4]) -> (%y) {
  %b = constant i64[1] [0]
  %a = constant i64[1] [-1]
  %0: f32[1, 4] = ReduceMax(%x, %b) {keepdims = 1}
  %1: f32[4, 4] = Sub(%x, %0)
  %2: f32[4, 4] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
  %y: f32[4, 4] = Div(%2, %3)
}
)");
}

TEST(FuseSoftmax, TwoAxesStay) {
  expect_unchanged(fuse_softmax, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[1, 1] = ReduceMax(%x) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[1, 1] = ReduceSum(%2) {keepdims = 1}
  %y: f32[4, 8] = Div(%2, %3)
}
)");
}

TEST(FuseSoftmax, AMaximumThatIsReadElsewhereStays) {
  expect_unchanged(fuse_softmax, R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceMax(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
  %y: f32[4, 8] = Div(%2, %3)
  %z: f32[4, 1] = Neg(%0)
}
)");
}

}  // namespace
}  // namespace sluice
