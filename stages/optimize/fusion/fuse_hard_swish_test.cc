#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion_rules.h"
#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

void expect_hard_swish(const std::string& nodes) {
  expect_rewrite(kFuseHardSwishRules, graph_of(kRows, nodes),
                 graph_of(kRows, "  %y: f32[4, 8] = HardSwish(%x)\n"));
}

TEST(FuseHardSwish, ClipAfterTheProduct) {
  expect_hard_swish(R"(  %three = constant f32[] [3]
  %zero = constant f32[] [0]
  %six = constant f32[] [6]
  %0: f32[4, 8] = Add(%x, %three)
  %1: f32[4, 8] = Clip(%0, %zero, %six)
  %2: f32[4, 8] = Mul(%x, %1)
  %y: f32[4, 8] = Div(%2, %six)
)");
}

TEST(FuseHardSwish, ClipBeforeTheProduct) {
  expect_hard_swish(R"(  %three = constant f32[] [3]
  %zero = constant f32[] [0]
  %six = constant f32[] [6]
  %sixth = constant f32[] [0.16666667]
  %0: f32[4, 8] = Add(%three, %x)
  %1: f32[4, 8] = Clip(%0, %zero, %six)
  %2: f32[4, 8] = Mul(%1, %sixth)
  %y: f32[4, 8] = Mul(%2, %x)
)");
}

TEST(FuseHardSwish, HardSigmoid) {
  expect_hard_swish(R"(  %0: f32[4, 8] = HardSigmoid(%x) {alpha = 0.16666667}
  %y: f32[4, 8] = Mul(%0, %x)
)");
}

TEST(FuseHardSwish, HardSigmoidOfAnotherSlopeStays) {
  expect_unchanged(kFuseHardSwishRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[4, 8] = HardSigmoid(%x)
  %y: f32[4, 8] = Mul(%0, %x)
}
)");
}

TEST(FuseHardSwish, OtherBoundsStay) {
  expect_unchanged(kFuseHardSwishRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %three = constant f32[] [3]
  %zero = constant f32[] [0]
  %six = constant f32[] [6]
  %0: f32[4, 8] = Add(%x, %three)
  %1: f32[4, 8] = Clip(%0, %zero, %three)
  %2: f32[4, 8] = Mul(%x, %1)
  %y: f32[4, 8] = Div(%2, %six)
}
)");
}

}  // namespace
}  // namespace sluice
