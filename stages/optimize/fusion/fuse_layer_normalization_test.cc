#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseLayerNormalization, ScaleAndShift) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Pow(%1, %two)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 8] = Div(%1, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f32[4, 8] = Add(%7, %b)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %y: f32[4, 8] = LayerNormalization(%x, %w, %b) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, OtherOrdersAndTheReciprocal) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Mul(%1, %1)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 1] = Reciprocal(%5)
  %7: f32[4, 8] = Mul(%6, %1)
  %8: f32[4, 8] = Mul(%w, %7)
  %y: f32[4, 8] = Add(%b, %8)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %y: f32[4, 8] = LayerNormalization(%x, %w, %b) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, SeveralLastAxes) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[3, 4, 2]) -> (%y) {
  %a = constant i64[2] [-1, -2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[4, 2] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[3, 1, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[3, 4, 2] = Sub(%x, %0)
  %2: f32[3, 4, 2] = Mul(%1, %1)
  %3: f32[3, 1, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[3, 1, 1] = Add(%3, %eps)
  %5: f32[3, 1, 1] = Sqrt(%4)
  %6: f32[3, 4, 2] = Div(%1, %5)
  %y: f32[3, 4, 2] = Mul(%6, %w)
}
)",
                 R"(graph @main(%x: f32[3, 4, 2]) -> (%y) {
  %w = constant f32[4, 2] [1, 2, 3, 4, 5, 6, 7, 8]
  %y: f32[3, 4, 2] = LayerNormalization(%x, %w) {axis = -2, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, OnlyAShift) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Pow(%1, %two)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 8] = Div(%1, %5)
  %y: f32[4, 8] = Add(%6, %b)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0 = constant f32[] [1]
  %y: f32[4, 8] = LayerNormalization(%x, %0, %b) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, AResidualIsNoShift) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Pow(%1, %two)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 8] = Div(%1, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f32[4, 8] = Add(%7, %x)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 8] = LayerNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
  %y: f32[4, 8] = Add(%0, %x)
}
)");
}

TEST(FuseLayerNormalization, OneFactorForRowAndMean) {
  expect_rewrite(fuse_layer_normalization,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Pow(%1, %two)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 1] = Reciprocal(%5)
  %7: f32[4, 8] = Mul(%6, %w)
  %8: f32[4, 8] = Mul(%x, %7)
  %9: f32[4, 8] = Mul(%0, %7)
  %10: f32[4, 8] = Sub(%b, %9)
  %y: f32[4, 8] = Add(%8, %10)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %y: f32[4, 8] = LayerNormalization(%x, %w, %b) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, ANumberOfSymbolicRows) {
  expect_rewrite(fuse_layer_normalization,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f32[N, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %0: f32[N, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %1: f32[N, 8] = Sub(%x, %0)
  %2: f32[N, 8] = Pow(%1, %two)
  %3: f32[N, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[N, 1] = Add(%3, %eps)
  %5: f32[N, 1] = Sqrt(%4)
  %6: f32[N, 8] = Div(%1, %5)
  %7: f32[N, 8] = Mul(%6, %w)
  %y: f32[N, 8] = Add(%7, %b)
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f32[N, 8]) -> (%y) {
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]
  %y: f32[N, 8] = LayerNormalization(%x, %w, %b) {axis = -1, epsilon = 1e-05}
}
)");
}

TEST(FuseLayerNormalization, AnotherMeanStays) {
  expect_unchanged(fuse_layer_normalization, R"(graph @main(%x: f32[4, 8], %z: f32[4, 8]) -> (%y) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %0: f32[4, 1] = ReduceMean(%z, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Pow(%1, %two)
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
  %6: f32[4, 8] = Div(%1, %5)
  %y: f32[4, 8] = Mul(%6, %w)
}
)");
}

TEST(FuseLayerNormalization, AMeanThatIsAnOutputStays) {
  expect_unchanged(fuse_layer_normalization, R"(graph @main(%x: f32[4, 8]) -> (%y, %m) {
  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]
  %m: f32[4, 1] = ReduceMean(%x, %a) {keepdims = 1}
  %0: f32[4, 8] = Sub(%x, %m)
  %1: f32[4, 8] = Pow(%0, %two)
  %2: f32[4, 1] = ReduceMean(%1, %a) {keepdims = 1}
  %3: f32[4, 1] = Add(%2, %eps)
  %4: f32[4, 1] = Sqrt(%3)
  %5: f32[4, 8] = Div(%0, %4)
  %y: f32[4, 8] = Mul(%5, %w)
}
)");
}

}  // namespace
}  // namespace sluice
