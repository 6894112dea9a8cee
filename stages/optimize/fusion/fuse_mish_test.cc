#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseMish, Softplus) {
  expect_rewrite(fuse_mish,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[4, 8] = Softplus(%x)
  %1: f32[4, 8] = Tanh(%0)
  %y: f32[4, 8] = Mul(%x, %1)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = Mish(%x)
}
)");
}

TEST(FuseMish, LogarithmOfASum) {
  expect_rewrite(fuse_mish,
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %one = constant f32[] [1]
  %0: f32[4, 8] = Exp(%x)
  %1: f32[4, 8] = Add(%0, %one)
  %2: f32[4, 8] = Log(%1)
  %3: f32[4, 8] = Tanh(%2)
  %y: f32[4, 8] = Mul(%3, %x)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %y: f32[4, 8] = Mish(%x)
}
)");
}

TEST(FuseMish, TheTanhOfXItselfStays) {
  expect_unchanged(fuse_mish, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[4, 8] = Tanh(%x)
  %y: f32[4, 8] = Mul(%x, %0)
}
)");
}

}  // namespace
}  // namespace sluice
