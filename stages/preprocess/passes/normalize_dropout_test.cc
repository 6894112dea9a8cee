#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

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

TEST(NormalizeDropout, ConstantTrainingStays) {
  EXPECT_EQ(after_pass(normalize_dropout, R"(graph @main(%x: f32[2]) -> (%y) {
  %ratio = constant f32[] [0.5]
  %training = constant bool[] [true]
  %y: f32[2] = Dropout(%x, %ratio, %training)
}
)"),
            "unchanged");
}

}  // namespace
}  // namespace sluice
