#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stages/preprocess/passes/passes_testing.h"

namespace sluice {
namespace {

TEST(NormalizeDropout, OutsideTrainingIsIdentity) {
  EXPECT_EQ(after_pass(normalize_dropout, R"(graph @main(%x: f32[2]) -> (%y, %mask) {
  %ratio = constant f32[] [0.5]
  %y: f32[2], %mask: bool[2] = Dropout(%x, %ratio)
}
)"),
            R"(graph @main(%x: f32[2]) -> (%y, %mask) {
  %mask = constant bool[2] splat true
  %y: f32[2] = Identity(%x)
}
)");
}

TEST(NormalizeDropout, TrainingStays) {
  EXPECT_EQ(after_pass(normalize_dropout, R"(graph @main(%x: f32[2], %training: bool[]) -> (%y) {
  %ratio = constant f32[] [0.5]
  %y: f32[2] = Dropout(%x, %ratio, %training)
}
)"),
            "unchanged");
}

TEST(NormalizeDropout, ConstantTrainingIsRefused) {
  const auto text = [](const char* ratio) {
    return std::string("graph @main(%x: f32[2]) -> (%y) {\n  %ratio = constant f32[] [") + ratio +
           "]\n  %training = constant bool[] [true]\n  %y: f32[2] = Dropout(%x, %ratio, %training)\n}\n";
  };
  EXPECT_THAT(after_pass(normalize_dropout, text("0.5")), testing::HasSubstr("drops at random"));
  EXPECT_EQ(after_pass(normalize_dropout, text("0")), "unchanged");
}

}  // namespace
}  // namespace sluice
