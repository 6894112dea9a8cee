#include "common/loop/real_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/loop/text.h"

namespace sluice::loop {
namespace {

// The range of the last scalar instruction of one sweep over f32, i8 and i32 elements.
RealRange range_of(const std::string& instructions) {
  const auto graph = parse_loops(
      "loops 1\nbuffer y0: f32[4] written\nbuffer x1: f32[4]\nbuffer x2: i8[4]\n"
      "buffer x3: i32[4]\nnest for i0 < 4 {\n  sweep {\n" +
          instructions + "  }\n}\n",
      "text");
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  return real_ranges(graph->nests[0]).back();
}

TEST(RealRange, OfAClampedNumberHasItsBounds) {
  const std::string clamp =
      "%0: f32 = load x1[i0]\n%1: f32 = constant -128\n%2: f32 = constant 127\n"
      "%3: f32 = max %0, %1\n%4: f32 = min %3, %2\n";
  const RealRange range = range_of(clamp);
  EXPECT_EQ(range.low, -128);
  EXPECT_EQ(range.high, 127);
  EXPECT_TRUE(range.may_be_nan);
}

TEST(RealRange, AChoiceOfNumbersIsNoNan) {
  const RealRange range = range_of(
      "%0: f32 = load x1[i0]\n%1: bool = eq %0, %0\n%2: f32 = constant 0\n"
      "%3: f32 = select %1, %0, %2\n");
  EXPECT_FALSE(range.may_be_nan);
  EXPECT_TRUE(std::isinf(range.high));
}

// Comparisons that choose the larger or the smaller; where one is NaN, it is the second choice.
TEST(RealRange, AChoiceByComparisonIsBounded) {
  const std::string x = "%0: f32 = load x1[i0]\n%1: f32 = constant 5\n";
  const RealRange raised = range_of(x + "%2: bool = lt %1, %0\n%3: f32 = select %2, %0, %1\n");
  EXPECT_EQ(raised.low, 5);
  EXPECT_FALSE(raised.may_be_nan);
  const RealRange lowered = range_of(x + "%2: bool = lt %0, %1\n%3: f32 = select %2, %0, %1\n");
  EXPECT_EQ(lowered.high, 5);
  EXPECT_FALSE(lowered.may_be_nan);
  const RealRange kept = range_of(x + "%2: bool = lt %0, %1\n%3: f32 = select %2, %1, %0\n");
  EXPECT_EQ(kept.low, 5);
  EXPECT_TRUE(kept.may_be_nan);
  const RealRange swapped = range_of(x + "%2: bool = lt %0, %1\n%3: f32 = select %2, %0, %0\n");
  EXPECT_TRUE(std::isinf(swapped.low) && std::isinf(swapped.high));
}

// 2^31 - 1 is no f32: the largest i32 becomes 2^31.
TEST(RealRange, OfAnIntegerCoversItsRounding) {
  EXPECT_LT(range_of("%0: i8 = load x2[i0]\n%1: f32 = cast %0\n").high, 128);
  EXPECT_GE(range_of("%0: i32 = load x3[i0]\n%1: f32 = cast %0\n").high, 0x1p31);
}

TEST(RealRange, OfASumOfUnknownNumbersIsUnknown) {
  const RealRange range =
      range_of("%0: f32 = load x1[i0]\n%1: f32 = constant 1\n%2: f32 = add %0, %1\n");
  EXPECT_TRUE(std::isinf(range.low) && std::isinf(range.high) && range.may_be_nan);
}

}  // namespace
}  // namespace sluice::loop
