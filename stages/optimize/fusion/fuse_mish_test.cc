#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion_rules.h"
#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

void expect_mish(const std::string& nodes) {
  expect_rewrite(kFuseMishRules, graph_of(kRows, nodes),
                 graph_of(kRows, "  %y: f32[4, 8] = Mish(%x)\n"));
}

TEST(FuseMish, Softplus) {
  expect_mish(R"(  %0: f32[4, 8] = Softplus(%x)
  %1: f32[4, 8] = Tanh(%0)
  %y: f32[4, 8] = Mul(%x, %1)
)");
}

TEST(FuseMish, LogarithmOfASum) {
  expect_mish(R"(  %one = constant f32[] [1]
  %0: f32[4, 8] = Exp(%x)
  %1: f32[4, 8] = Add(%0, %one)
  %2: f32[4, 8] = Log(%1)
  %3: f32[4, 8] = Tanh(%2)
  %y: f32[4, 8] = Mul(%3, %x)
)");
}

TEST(FuseMish, TheTanhOfXItselfStays) {
  expect_unchanged(kFuseMishRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[4, 8] = Tanh(%x)
  %y: f32[4, 8] = Mul(%x, %0)
}
)");
}

}  // namespace
}  // namespace sluice
