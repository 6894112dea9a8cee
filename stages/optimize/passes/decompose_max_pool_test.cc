#include <gtest/gtest.h>

#include <string>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DecomposeMaxPool, WindowsOfOpenImages) {
  expect_rewrite(decompose_max_pool,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f16[N, 8, H, 20]) -> (%y) {
  %y: f16[N, 8, H, 20] = MaxPool(%x) {kernel_shape = [13, 13], pads = [6, 6, 6, 6]}
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f16[N, 8, H, 20]) -> (%y) {
  %0: f16[N, 8, H, 20] = MaxPool(%x) {kernel_shape = [5, 5], pads = [2, 2, 2, 2]}
  %1: f16[N, 8, H, 20] = MaxPool(%0) {dilations = [2, 2], kernel_shape = [3, 3], pads = [2, 2, 2, 2]}
  %y: f16[N, 8, H, 20] = MaxPool(%1) {dilations = [2, 2], kernel_shape = [3, 3], pads = [2, 2, 2, 2]}
}
)");
}

TEST(DecomposeMaxPool, UnlikeSidesAndStrides) {
  expect_rewrite(decompose_max_pool,
                 R"(graph @main(%x: f32[1, 2, 30, 5]) -> (%y) {
  %y: f32[1, 2, 15, 5] = MaxPool(%x) {kernel_shape = [29, 5], pads = [14, 2, 14, 2], strides = [2, 1]}
}
)",
                 R"(graph @main(%x: f32[1, 2, 30, 5]) -> (%y) {
  %0: f32[1, 2, 30, 5] = MaxPool(%x) {kernel_shape = [5, 5], pads = [2, 2, 2, 2]}
  %1: f32[1, 2, 30, 5] = MaxPool(%0) {dilations = [2, 1], kernel_shape = [3, 1], pads = [2, 0, 2, 0]}
  %2: f32[1, 2, 30, 5] = MaxPool(%1) {dilations = [4, 1], kernel_shape = [3, 1], pads = [4, 0, 4, 0]}
  %y: f32[1, 2, 15, 5] = MaxPool(%2) {dilations = [6, 1], kernel_shape = [3, 1], pads = [6, 0, 6, 0], strides = [2, 1]}
}
)");
}

// Images smaller than windows, and padding that the node chooses.
TEST(DecomposeMaxPool, EverySize) {
  const auto pool = [](const std::string& dims, const std::string& window) {
    return "graph @main(%x: f32[1, 3, " + dims + "]) -> (%y) {\n  %y: f32[1, 3, " + dims +
           "] = MaxPool(%x) {" + window + "}\n}\n";
  };
  for (const char* size : {"1", "2", "7", "40"}) {
    for (const int kernel : {9, 11, 13, 27, 29, 81}) {
      const std::string k = std::to_string(kernel), pad = std::to_string(kernel / 2);
      const std::string image = std::string(size) + ", 6";
      const std::string square = "kernel_shape = [" + k + ", " + k + "]";
      for (const std::string& window :
           {square + ", pads = [" + pad + ", " + pad + ", " + pad + ", " + pad + "]",
            "auto_pad = \"SAME_UPPER\", " + square}) {
        expect_decomposed(decompose_max_pool, pool(image, window), Op::kLpPool);
      }
    }
  }
}

TEST(DecomposeMaxPool, StaysWhereItPaysNothingOrHasOtherPadding) {
  for (const char* window :
       {"kernel_shape = [3, 3], pads = [1, 1, 1, 1]", "kernel_shape = [5, 5], pads = [2, 2, 2, 2]",
        "kernel_shape = [9, 1], pads = [4, 0, 4, 0]",
        "dilations = [2, 2], kernel_shape = [9, 9], pads = [8, 8, 8, 8]"}) {
    expect_unchanged(decompose_max_pool,
                     "graph @main(%x: f32[1, 2, 20, 20]) -> (%y) {\n"
                     "  %y: f32[1, 2, 20, 20] = MaxPool(%x) {" +
                         std::string(window) + "}\n}\n");
  }
  expect_unchanged(decompose_max_pool, R"(graph @main(%x: f32[1, 2, 20, 20]) -> (%y, %i) {
  %y: f32[1, 2, 20, 20], %i: i64[1, 2, 20, 20] = MaxPool(%x) {kernel_shape = [9, 9], pads = [4, 4, 4, 4]}
  %z: f32[1, 2, 12, 12] = MaxPool(%x) {kernel_shape = [9, 9]}
}
)");
}

}  // namespace
}  // namespace sluice
