#include <gtest/gtest.h>

#include <regex>

#include "stages/optimize/testing/fusion_graphs.h"

namespace sluice {
namespace {

constexpr char kScale[] = "  %w = constant f32[8] [1, 2, 3, 4, 5, 6, 7, 8]\n";
constexpr char kShift[] = "  %b = constant f32[8] [8, 7, 6, 5, 4, 3, 2, 1]\n";
constexpr char kNormalization[] =
    "  %y: f32[4, 8] = LayerNormalization(%x, %w, %b) {axis = -1, epsilon = 1e-05}\n";

// The mean %0 of the rows of `mean_of`, the rows %1 without it, and their standard deviation %5.
std::string deviation(const std::string& mean_of = "%x",
                      const std::string& square = "Pow(%1, %two)") {
  return R"(  %a = constant i64[1] [-1]
  %two = constant f32[] [2]
  %eps = constant f32[] [1e-05]
  %0: f32[4, 1] = ReduceMean()" +
         mean_of + R"(, %a) {keepdims = 1}
  %1: f32[4, 8] = Sub(%x, %0)
  %2: f32[4, 8] = )" +
         square + R"(
  %3: f32[4, 1] = ReduceMean(%2, %a) {keepdims = 1}
  %4: f32[4, 1] = Add(%3, %eps)
  %5: f32[4, 1] = Sqrt(%4)
)";
}

// Expects that nodes after the constants become others after the same constants.
void expect_normalization(const std::string& constants, const std::string& nodes,
                          const std::string& after) {
  expect_rewrite(fuse_layer_normalization, graph_of(kRows, constants + nodes),
                 graph_of(kRows, constants + after));
}

TEST(FuseLayerNormalization, ScaleAndShift) {
  expect_normalization(std::string(kScale) + kShift, deviation() + R"(  %6: f32[4, 8] = Div(%1, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f32[4, 8] = Add(%7, %b)
)",
                       kNormalization);
}

TEST(FuseLayerNormalization, OtherOrdersAndTheReciprocal) {
  expect_normalization(std::string(kScale) + kShift,
                       deviation("%x", "Mul(%1, %1)") + R"(  %6: f32[4, 1] = Reciprocal(%5)
  %7: f32[4, 8] = Mul(%6, %1)
  %8: f32[4, 8] = Mul(%w, %7)
  %y: f32[4, 8] = Add(%b, %8)
)",
                       kNormalization);
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
  expect_normalization(kShift, deviation() + R"(  %6: f32[4, 8] = Div(%1, %5)
  %y: f32[4, 8] = Add(%6, %b)
)",
                       R"(  %0 = constant f32[] [1]
  %y: f32[4, 8] = LayerNormalization(%x, %0, %b) {axis = -1, epsilon = 1e-05}
)");
}

TEST(FuseLayerNormalization, AResidualIsNoShift) {
  expect_normalization(kScale, deviation() + R"(  %6: f32[4, 8] = Div(%1, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f32[4, 8] = Add(%7, %x)
)",
                       R"(  %0: f32[4, 8] = LayerNormalization(%x, %w) {axis = -1, epsilon = 1e-05}
  %y: f32[4, 8] = Add(%0, %x)
)");
}

TEST(FuseLayerNormalization, OneFactorForRowAndMean) {
  expect_normalization(std::string(kScale) + kShift,
                       deviation() + R"(  %6: f32[4, 1] = Reciprocal(%5)
  %7: f32[4, 8] = Mul(%6, %w)
  %8: f32[4, 8] = Mul(%x, %7)
  %9: f32[4, 8] = Mul(%0, %7)
  %10: f32[4, 8] = Sub(%b, %9)
  %y: f32[4, 8] = Add(%8, %10)
)",
                       kNormalization);
}

TEST(FuseLayerNormalization, ANumberOfSymbolicRows) {
  const auto symbolic = [](const std::string& text) {
    return "symbol N = dim(@main, %x, 0) in [1, *]\n" +
           std::regex_replace(text, std::regex(R"(f32\[4, )"), "f32[N, ");
  };
  const std::string constants = std::string(kScale) + kShift;
  expect_rewrite(fuse_layer_normalization,
                 symbolic(graph_of(kRows, constants + deviation() + R"(  %6: f32[4, 8] = Div(%1, %5)
  %7: f32[4, 8] = Mul(%6, %w)
  %y: f32[4, 8] = Add(%7, %b)
)")),
                 symbolic(graph_of(kRows, constants + kNormalization)));
}

TEST(FuseLayerNormalization, AnotherMeanStays) {
  expect_unchanged(fuse_layer_normalization,
                   graph_of("%x: f32[4, 8], %z: f32[4, 8]",
                            kScale + deviation("%z") + R"(  %6: f32[4, 8] = Div(%1, %5)
  %y: f32[4, 8] = Mul(%6, %w)
)"));
}

TEST(FuseLayerNormalization, AMeanThatIsAnOutputStays) {
  const std::string nodes = kScale + deviation() + R"(  %6: f32[4, 8] = Div(%1, %5)
  %y: f32[4, 8] = Mul(%6, %w)
)";
  expect_unchanged(fuse_layer_normalization, graph_of(kRows, nodes, "%y, %0"));
}

}  // namespace
}  // namespace sluice
