#include <gtest/gtest.h>

#include <algorithm>

#include "common/loop/testing/lowering_case.h"

namespace sluice::loop {
namespace {

// A Fused node of the values x, r f32[N, 6] (a symbol or a number) and its body.
LoweringCase fused(const std::string& outputs, const std::string& body, double ulps = 32) {
  LoweringCase test;
  std::string results;
  for (char name = '0'; name < '0' + std::ranges::count(outputs, '%'); ++name)
    results += (results.empty() ? "%y" : ", %y") + std::string(1, name);
  test.graphs = "graph @main(%x: f32[N, 6], %r: f32[N, 6], %s: f32[6], %k: f32[N, 20000]) -> (" +
                results + ") {\n" + results + " = Fused(%x, %r, %s, %k) {body = @main.f}\n}\n" +
                "graph @main.f(%x: f32[N, 6], %r: f32[N, 6], %s: f32[6], %k: f32[N, 20000]) -> (" +
                outputs + ") fused {\n" + body + "\n}\n";
  test.sizes = {{"N", 3}};
  test.ulps = ulps;
  test.ranges = {{"x", {-3, 5}}, {"r", {-2, 2}}, {"k", {-1, 1}}};
  return test;
}

TEST(RowTest, IsKeptWhereItIsComputed) {
  EXPECT_EQ(lowering_difference(fused("%n", "%a = Add(%x, %r)\n%n = LayerNormalization(%a, %s)")),
            "");
  EXPECT_EQ(lowering_difference(fused("%n", "%a = Exp(%x)\n%n = Softmax(%a)")), "");
  EXPECT_EQ(lowering_difference(fused("%n", "%a = Exp(%x)\n%n = ReduceLogSumExp(%a)")), "");
}

TEST(RowTest, IsReadFromTheOutputThatItIs) {
  EXPECT_EQ(
      lowering_difference(fused("%a, %n", "%a = Add(%x, %r)\n%n = LayerNormalization(%a, %s)")),
      "");
  EXPECT_EQ(lowering_difference(fused("%n, %a, %c",
                                      "%a = Add(%x, %r)\n%n = RMSNormalization(%a, "
                                      "%s)\n%c = Cast(%a) {to = 11}")),
            "");
}

TEST(RowTest, IsComputedAgainWhereItDoesNotFit) {
  EXPECT_EQ(lowering_difference(fused("%n", "%a = Neg(%k)\n%n = Softmax(%a)")), "");
}

TEST(RowTest, IsReadByWhatFollows) {
  EXPECT_EQ(lowering_difference(fused("%y",
                                      "%a = Add(%x, %r)\n%n = LayerNormalization(%a, %s)\n"
                                      "%g = Relu(%n)\n%y = Add(%g, %a)")),
            "");
  EXPECT_EQ(lowering_difference(fused("%y, %m",
                                      "%a = Add(%x, %r)\n%n, %m, %v = "
                                      "LayerNormalization(%a, %s)\n%y = Mul(%n, %r)")),
            "");
}

TEST(RowTest, OutputsThatNoLoopGivesAreComputedToo) {
  EXPECT_EQ(lowering_difference(fused("%a, %n, %b",
                                      "%a = Exp(%r)\n%n = ReduceMax(%x)\n"
                                      "%b = Neg(%s)")),
            "");
}

TEST(RowTest, AnOutputOfAnotherShapeIsRefused) {
  EXPECT_NE(lowering_difference(
                fused("%y", "%k1 = constant i64[1] [1]\n%n = ReduceMax(%x, %k1)\n%y = Sub(%x, %n)"))
                .find("another shape"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::loop
