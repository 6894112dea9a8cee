#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(EliminateCommonSubexpressions, MergesChainsAndConstants) {
  expect_rewrite(eliminate_common_subexpressions,
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %k = constant f32[] [2]
  %l = constant f32[] [2]
  %a: f32[2] = Mul(%x, %k) from "a"
  %b: f32[2] = Mul(%x, %l) from "b"
  %c: f32[2] = Relu(%a)
  %d: f32[2] = Relu(%b)
  %y: f32[2] = Add(%c, %d)
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %k = constant f32[] [2]
  %a: f32[2] = Mul(%x, %k) from "a", "b"
  %c: f32[2] = Relu(%a)
  %y: f32[2] = Add(%c, %c)
}
)");
}

TEST(EliminateCommonSubexpressions, KeepsRandomOpsOtherAttributesAndOtherPlans) {
  expect_unchanged(eliminate_common_subexpressions,
                   R"(graph @main(%x: f32[2]) -> (%a, %b, %c, %d, %e, %f) {
  %a: f32[2] = RandomNormalLike(%x)
  %b: f32[2] = RandomNormalLike(%x)
  %c: f32[2] = Elu(%x) {alpha = 1.0}
  %d: f32[2] = Elu(%x) {alpha = 2.0}
  %e: f32[2] = Relu(%x)
  %f: f32[2] = Relu(%x) placement {stream_label = "left"}
}
)");
}

TEST(EliminateCommonSubexpressions, TwoOutputsOfTheModelStayTwo) {
  expect_unchanged(eliminate_common_subexpressions,
                   R"(graph @main(%x: f32[2]) -> (%a, %b) {
  %a: f32[2] = Relu(%x)
  %b: f32[2] = Relu(%x)
}
)");
}

}  // namespace
}  // namespace sluice
