#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion_rules.h"
#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

// Expects that the nodes become one; `remainder`: what follows its operand.
void expect_gelu(const std::string& nodes, const std::string& remainder = "") {
  expect_rewrite(kFuseGeluRules, graph_of(kRows, nodes),
                 graph_of(kRows, "  %y: f32[4, 8] = Gelu(%x)" + remainder + "\n"));
}

TEST(FuseGelu, FactorsInTheOrderOfExporters) {
  expect_gelu(R"(  %root = constant f32[] [1.4142135]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Div(%x, %root) from "gelu"
  %1: f32[4, 8] = Erf(%0)
  %2: f32[4, 8] = Add(%1, %one)
  %3: f32[4, 8] = Mul(%x, %2)
  %y: f32[4, 8] = Mul(%3, %half)
)",
              R"( from "gelu")");
}

TEST(FuseGelu, HalfFirst) {
  expect_gelu(R"(  %root = constant f32[] [0.70710677]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Mul(%half, %x)
  %1: f32[4, 8] = Mul(%x, %root)
  %2: f32[4, 8] = Erf(%1)
  %3: f32[4, 8] = Add(%one, %2)
  %y: f32[4, 8] = Mul(%0, %3)
)");
}

TEST(FuseGelu, HalfOnTheSumAndAnOperandThatIsAProduct) {
  expect_rewrite(kFuseGeluRules,
                 R"(graph @main(%a: f32[4, 8]) -> (%y) {
  %half = constant f32[] [0.5]
  %root = constant f32[] [0.70710677]
  %one = constant f32[] [1]
  %two = constant f32[] [2]
  %x: f32[4, 8] = Mul(%a, %half)
  %1: f32[4, 8] = Mul(%x, %root)
  %2: f32[4, 8] = Erf(%1)
  %3: f32[4, 8] = Add(%one, %2)
  %4: f32[4, 8] = Div(%3, %two)
  %y: f32[4, 8] = Mul(%4, %x)
}
)",
                 R"(graph @main(%a: f32[4, 8]) -> (%y) {
  %half = constant f32[] [0.5]
  %x: f32[4, 8] = Mul(%a, %half)
  %y: f32[4, 8] = Gelu(%x)
}
)");
}

TEST(FuseGelu, TanhOfACube) {
  expect_gelu(R"(  %three = constant f32[] [3]
  %cube = constant f32[] [0.044715]
  %scale = constant f32[] [0.7978846]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Pow(%x, %three)
  %1: f32[4, 8] = Mul(%0, %cube)
  %2: f32[4, 8] = Add(%x, %1)
  %3: f32[4, 8] = Mul(%2, %scale)
  %4: f32[4, 8] = Tanh(%3)
  %5: f32[4, 8] = Add(%4, %one)
  %6: f32[4, 8] = Mul(%x, %half)
  %y: f32[4, 8] = Mul(%6, %5)
)",
              R"( {approximate = "tanh"})");
}

TEST(FuseGelu, TanhOfAFactoredPolynomial) {
  expect_gelu(R"(  %scale = constant f32[] [0.7978846]
  %cube = constant f32[] [0.044715]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Mul(%x, %scale)
  %1: f32[4, 8] = Mul(%x, %cube)
  %2: f32[4, 8] = Mul(%1, %x)
  %3: f32[4, 8] = Add(%2, %one)
  %4: f32[4, 8] = Mul(%0, %3)
  %5: f32[4, 8] = Tanh(%4)
  %6: f32[4, 8] = Add(%one, %5)
  %7: f32[4, 8] = Mul(%half, %6)
  %y: f32[4, 8] = Mul(%7, %x)
)",
              R"( {approximate = "tanh"})");
}

TEST(FuseGelu, OtherConstantsAreOtherFunctions) {
  expect_unchanged(kFuseGeluRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %root = constant f32[] [0.7071]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Mul(%x, %root)
  %1: f32[4, 8] = Erf(%0)
  %2: f32[4, 8] = Add(%1, %one)
  %3: f32[4, 8] = Mul(%x, %2)
  %y: f32[4, 8] = Mul(%3, %half)
}
)");
}

TEST(FuseGelu, AValueInBetweenIsAnOutput) {
  expect_unchanged(kFuseGeluRules, R"(graph @main(%x: f32[4, 8]) -> (%y, %e) {
  %root = constant f32[] [0.70710677]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Mul(%x, %root)
  %e: f32[4, 8] = Erf(%0)
  %1: f32[4, 8] = Add(%e, %one)
  %2: f32[4, 8] = Mul(%x, %1)
  %y: f32[4, 8] = Mul(%2, %half)
}
)");
}

TEST(FuseGelu, ANodeThatIsKeptStays) {
  expect_unchanged(kFuseGeluRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %root = constant f32[] [0.70710677]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %0: f32[4, 8] = Mul(%x, %root)
  %1: f32[4, 8] = Erf(%0) placement {keep}
  %2: f32[4, 8] = Add(%1, %one)
  %3: f32[4, 8] = Mul(%x, %2)
  %y: f32[4, 8] = Mul(%3, %half)
}
)");
}

}  // namespace
}  // namespace sluice
