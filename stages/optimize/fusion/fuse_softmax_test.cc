#include <gtest/gtest.h>

#include "stages/optimize/fusion/fusion_rules.h"
#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

// Powers %2 of the rows without their maximum, and the sums %3 of the powers.
constexpr char kPowers[] = R"(  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceMax(%x, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[4, 1] = ReduceSum(%2, %a) {keepdims = 1}
)";

void expect_softmax(const std::string& nodes, const std::string& op) {
  expect_rewrite(kFuseSoftmaxRules, graph_of(kRows, nodes),
                 graph_of(kRows, "  %y: f32[4, 8] = " + op + "(%x) {axis = 1}\n"));
}

TEST(FuseSoftmax, Quotient) {
  expect_softmax(std::string(kPowers) + "  %y: f32[4, 8] = Div(%2, %3)\n", "Softmax");
}

TEST(FuseSoftmax, ProductWithAReciprocal) {
  expect_softmax(std::string(kPowers) + R"(  %4: f32[4, 1] = Reciprocal(%3)
  %y: f32[4, 8] = Mul(%2, %4)
)",
                 "Softmax");
}

TEST(FuseSoftmax, LogarithmOfTheSum) {
  expect_softmax(std::string(kPowers) + R"(  %4: f32[4, 1] = Log(%3)
  %y: f32[4, 8] = Sub(%1, %4)
)",
                 "LogSoftmax");
}

TEST(FuseSoftmax, LogSumExp) {
  expect_softmax(R"(  %a = constant i64[1] [-1]
  %0: f32[4, 1] = ReduceLogSumExp(%x, %a) {keepdims = 1}
  %y: f32[4, 8] = Sub(%x, %0)
)",
                 "LogSoftmax");
}

TEST(FuseSoftmax, AnotherAxisStays) {
  expect_unchanged(kFuseSoftmaxRules, R"(graph @main(%x: f32[4, 4]) -> (%y) {
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
  expect_unchanged(kFuseSoftmaxRules, R"(graph @main(%x: f32[4, 8]) -> (%y) {
  %0: f32[1, 1] = ReduceMax(%x) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = Exp(%1)
  %3: f32[1, 1] = ReduceSum(%2) {keepdims = 1}
  %y: f32[4, 8] = Div(%2, %3)
}
)");
}

TEST(FuseSoftmax, AMaximumThatIsReadElsewhereStays) {
  const std::string nodes = std::string(kPowers) + R"(  %y: f32[4, 8] = Div(%2, %3)
  %z: f32[4, 1] = Neg(%0)
)";
  expect_unchanged(kFuseSoftmaxRules, graph_of(kRows, nodes, "%y, %z"));
}

}  // namespace
}  // namespace sluice
