#include <gtest/gtest.h>

#include "common/loop/lowering_testing.h"

namespace sluice::loop {
namespace {

TEST(LoweringTest, Relu) {
  EXPECT_EQ(lowering_difference({one_node("%x: f32[N, 3]", "%y = Relu(%x)"), {{"N", 5}}}), "");
}

}  // namespace
}  // namespace sluice::loop
