#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

namespace sluice {
namespace {

TEST(NormalizePadding, OddPaddingLiesBehindForUpper) {
  EXPECT_EQ(after_pass(normalize_padding,
                       R"(graph @main(%x: f32[1, 3, 224, 224], %w: f32[8, 3, 3, 3]) -> (%y) {
  %y: f32[1, 8, 112, 112] = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [2, 2]}
}
)"),
            R"(graph @main(%x: f32[1, 3, 224, 224], %w: f32[8, 3, 3, 3]) -> (%y) {
  %y: f32[1, 8, 112, 112] = Conv(%x, %w) {pads = [0, 0, 1, 1], strides = [2, 2]}
}
)");
}

TEST(NormalizePadding, OddPaddingLiesBeforeForLower) {
  const std::string text =
      after_pass(normalize_padding, R"(graph @main(%x: f32[1, 3, 5, 6]) -> (%y) {
  %y: f32[1, 3, 3, 3] = MaxPool(%x) {auto_pad = "SAME_LOWER", ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]}
}
)");
  EXPECT_NE(text.find("{kernel_shape = [2, 2], pads = [1, 0, 0, 0], strides = [2, 2]}"),
            std::string::npos)
      << text;
}

TEST(NormalizePadding, TransposedConvolutionReachesItsOutputShape) {
  const std::string text = after_pass(
      normalize_padding, R"(graph @main(%x: f32[1, 1, 3, 3], %w: f32[1, 2, 3, 3]) -> (%y) {
  %y: f32[1, 2, 10, 8] = ConvTranspose(%x, %w) {output_padding = [1, 1], output_shape = [10, 8], strides = [3, 2]}
}
)");
  EXPECT_NE(text.find("{output_padding = [1, 1], pads = [0, 0, 0, 0], strides = [3, 2]}"),
            std::string::npos)
      << text;
}

TEST(NormalizePadding, SymbolicSizesNeedStrideOneOrAMultiple) {
  const char* kText = R"(symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[1, 3, H, H], %w: f32[8, 3, 3, 3]) -> (%y) {
  %y: f32[1, 8, H, H] = Conv(%x, %w) {auto_pad = "SAME_UPPER"}
}
)";
  EXPECT_NE(after_pass(normalize_padding, kText).find("{pads = [1, 1, 1, 1]}"), std::string::npos);
  EXPECT_EQ(after_pass(normalize_padding, R"(symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[1, 3, H, H], %w: f32[8, 3, 3, 3]) -> (%y) {
  %y: f32[1, 8, ?, ?] = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [2, 2]}
}
)"),
            "unchanged");
}

TEST(NormalizePadding, ValidHasNone) {
  const std::string text =
      after_pass(normalize_padding, R"(graph @main(%x: f32[1, 3, 5, 6]) -> (%y) {
  %y: f32[1, 3, 4, 5] = AveragePool(%x) {auto_pad = "VALID", kernel_shape = [2, 2]}
}
)");
  EXPECT_NE(text.find("= AveragePool(%x) {kernel_shape = [2, 2]}"), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice
