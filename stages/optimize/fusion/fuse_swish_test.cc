#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FuseSwish, PlainAndScaled) {
  expect_rewrite(kFuseSwishRules,
                 R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %alpha = constant f32[] [1.702]
  %0: f32[4, 8] = Sigmoid(%x)
  %y: f32[4, 8] = Mul(%0, %x)
  %1: f32[4, 8] = Mul(%x, %alpha)
  %2: f32[4, 8] = Sigmoid(%1)
  %z: f32[4, 8] = Mul(%x, %2)
}
)",
                 R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %y: f32[4, 8] = Swish(%x)
  %z: f32[4, 8] = Swish(%x) {alpha = 1.702}
}
)");
}

TEST(FuseSwish, TheGateOfAnotherValueStays) {
  expect_unchanged(kFuseSwishRules, R"(graph @main(%x: f32[4, 8], %g: f32[4, 8]) -> (%y) {
  %0: f32[4, 8] = Sigmoid(%g)
  %y: f32[4, 8] = Mul(%0, %x)
}
)");
}

TEST(FuseSwish, ASigmoidThatIsReadTwiceStays) {
  expect_unchanged(kFuseSwishRules, R"(graph @main(%x: f32[4, 8]) -> (%y, %z) {
  %0: f32[4, 8] = Sigmoid(%x)
  %y: f32[4, 8] = Mul(%0, %x)
  %z: f32[4, 8] = Neg(%0)
}
)");
}

}  // namespace
}  // namespace sluice
