#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

namespace sluice {
namespace {

TEST(ResolveShapes, NumbersForZeroAndMinusOne) {
  EXPECT_EQ(after_pass(resolve_shapes, R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %s = constant i64[2] [0, -1]
  %y: f32[2, 12] = Reshape(%x, %s) {allowzero = 0}
}
)"),
            R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %s = constant i64[2] [2, 12]
  %y: f32[2, 12] = Reshape(%x, %s)
}
)");
}

TEST(ResolveShapes, AnEmptyDimIsNoCopy) {
  const std::string text = after_pass(resolve_shapes, R"(graph @main(%x: f32[0, 3]) -> (%y) {
  %s = constant i64[2] [3, -1]
  %y: f32[3, 0] = Reshape(%x, %s)
}
)");
  EXPECT_NE(text.find("[3, 0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{allowzero = 1}"), std::string::npos) << text;
}

TEST(ResolveShapes, SymbolicTargetsStay) {
  EXPECT_EQ(after_pass(resolve_shapes, R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f32[N, 3, 4]) -> (%y) {
  %s = constant i64[2] [0, -1]
  %y: f32[N, 12] = Reshape(%x, %s)
}
)"),
            "unchanged");
}

}  // namespace
}  // namespace sluice
