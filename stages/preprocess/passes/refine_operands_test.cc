#include <gtest/gtest.h>

#include "stages/preprocess/passes/passes_testing.h"

namespace sluice {
namespace {

TEST(RefineOperands, DimsReachTheBeginOfAChain) {
  EXPECT_EQ(after_pass(refine_operands, R"(graph @main(%x: f32[3, 4], %k: i64[1]) -> (%y) {
  %two = constant f32[] [2]
  %s: f32[?, ?] = ReduceSum(%x, %k)
  %t: f32[?, ?] = Mul(%two, %s)
  %y: f32[3, 1] = Sqrt(%t)
}
)"),
            R"(graph @main(%x: f32[3, 4], %k: i64[1]) -> (%y) {
  %two = constant f32[] [2]
  %s: f32[3, 1] = ReduceSum(%x, %k)
  %t: f32[3, 1] = Mul(%two, %s)
  %y: f32[3, 1] = Sqrt(%t)
}
)");
}

TEST(RefineOperands, BroadcastOperandsStay) {
  EXPECT_EQ(after_pass(refine_operands, R"(graph @main(%x: f32[3, 4], %k: i64[1]) -> (%y) {
  %s: f32[?, ?] = ReduceSum(%x, %k)
  %y: f32[3, 4] = Sub(%x, %s)
}
)"),
            "unchanged");
}

}  // namespace
}  // namespace sluice
