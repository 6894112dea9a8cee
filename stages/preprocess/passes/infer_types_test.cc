#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

namespace sluice {
namespace {

TEST(InferTypes, FoldsShapesAsItGoes) {
  EXPECT_EQ(after_pass(infer_types, R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %zero = constant i64[] [0]
  %rest = constant i64[1] [-1]
  %axis = constant i64[1] [0]
  %s: ? = Shape(%x)
  %d: ? = Gather(%s, %zero)
  %u: ? = Unsqueeze(%d, %axis)
  %t: ? = Concat(%u, %rest) {axis = 0}
  %y: ? = Reshape(%x, %t)
}
)"),
            R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %t = constant i64[2] [2, -1]
  %y: f32[2, 12] = Reshape(%x, %t)
}
)");
}

// The size of a batch may be 0, but not that of a dim by which a node divides. Afterwards both are
// dims like those whose bounds an option gives.
TEST(InferTypes, OpenDimsMayBeZeroWhereNoNodeMinds) {
  EXPECT_EQ(after_pass(infer_types, R"(symbol N = open(@main, %x, 0)
symbol M = open(@main, %x, 1)
graph @main(%x: f32[N, M, 4]) -> (%y) {
  %zero = constant i64[1] [0]
  %one = constant i64[1] [1]
  %far = constant i64[1] [-1]
  %s: ? = Shape(%x) {end = 1, start = 0}
  %t: ? = Concat(%far, %s) {axis = 0}
  %y: ? = Reshape(%x, %t)
}
)"),
            R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol M = dim(@main, %x, 1)
graph @main(%x: f32[N, M, 4]) -> (%y) {
  %far = constant i64[1] [-1]
  %s: i64[1] = Shape(%x) {end = 1, start = 0}
  %t: i64[2] = Concat(%far, %s) {axis = 0}
  %y: f32[4*M, N] = Reshape(%x, %t)
}
)");
}

TEST(InferTypes, LeavesLargeAndRandomNodes) {
  EXPECT_EQ(after_pass(infer_types, R"(graph @main() -> (%y, %r) {
  %w = constant f32[20000] splat 1
  %y: f32[20000] = Neg(%w)
  %r: f32[2] = RandomNormal() {shape = [2]}
}
)"),
            "unchanged");
}

// One node has 12 matrices of 4 x 4 and 4^24 iterations, the other a region of one pixel and 10^18
// samples.
TEST(InferTypes, LeavesNodesOfEndlessWork) {
  EXPECT_EQ(after_pass(infer_types, R"(graph @main() -> (%y, %r) {
  %m = constant f32[4, 4] [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]
  %x = constant f32[1, 1, 1, 1] [1]
  %box = constant f32[1, 4] [0, 0, 1, 1]
  %zero = constant i64[1] [0]
  %y: f32[] = Einsum(%m, %m, %m, %m, %m, %m, %m, %m, %m, %m, %m, %m) {equation = "ab,cd,ef,gh,ij,kl,mn,op,qr,st,uv,wx->"}
  %r: f32[1, 1, 1, 1] = RoiAlign(%x, %box, %zero) {sampling_ratio = 1000000000}
}
)"),
            "unchanged");
}

TEST(InferTypes, SpreadsConstantOfShapeWithoutBytes) {
  const std::string text = after_pass(infer_types, R"(graph @main(%x: f32[1000, 1000]) -> (%y) {
  %s: ? = Shape(%x)
  %c: ? = ConstantOfShape(%s) {value = constant f32[1] [2.5]}
  %y: ? = Add(%x, %c)
}
)");
  EXPECT_NE(text.find("%c = constant f32[1000, 1000] splat 2.5"), std::string::npos) << text;
}

TEST(InferTypes, SymbolsFlow) {
  const std::string text = after_pass(infer_types, R"(symbol N = dim(@main, %x, 0) in [1, 64]
graph @main(%x: f32[N, 3]) -> (%y) {
  %y: ? = Concat(%x, %x) {axis = 0}
}
)");
  EXPECT_NE(text.find("%y: f32[2*N, 3] = Concat"), std::string::npos) << text;
}

TEST(InferTypes, ABranchThatCannotBeRightFailsWhenTaken) {
  const std::string good = R"(graph @yes(%b: f32[2]) -> (%p) body captures 1 {
  %p: f32[2] = Neg(%b)
}
)";
  EXPECT_EQ(after_pass(infer_types, R"(graph @main(%c: bool[], %x: f32[2]) -> (%y) {
  %y: ? = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%a: f32[2]) -> (%n) body captures 1 {
  %shape = constant i64[1] [3]
  %n: ? = Reshape(%a, %shape)
}
)" + good),
            R"(graph @main(%c: bool[], %x: f32[2]) -> (%y) {
  %y: f32[2] = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%a: f32[2]) -> (%n) body captures 1 {
  %n: f32[2] = Fail() {message = "node 'n' (Reshape): 2 elements do not fit a target shape of 3"}
}
)" + good);
}

TEST(InferTypes, OneBranchHasToBeRight) {
  EXPECT_EQ(after_pass(infer_types, R"(graph @main(%c: bool[], %x: f32[2]) -> (%y) {
  %y: ? = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%a: f32[2]) -> (%n) body captures 1 {
  %shape = constant i64[1] [3]
  %n: ? = Reshape(%a, %shape)
}
graph @yes(%b: f32[2]) -> (%p) body captures 1 {
  %p: ? = Fail() {message = "why"}
}
)"),
            "error: node 'y' (If): both branches fail: why; node 'y' (If): graph 'no': node 'n' "
            "(Reshape): 2 elements do not fit a target "
            "shape of 3");
}

TEST(InferTypes, TakesTheBranchOfADecidedIf) {
  EXPECT_EQ(after_pass(infer_types, R"(graph @main(%x: f32[2]) -> (%y) {
  %c = constant bool[] [true]
  %y: ? = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%a: ?) -> (%n) body captures 1 {
  %n: ? = Abs(%a)
}
graph @yes(%b: ?) -> (%p) body captures 1 {
  %p: ? = Neg(%b)
}
)"),
            R"(graph @main(%x: f32[2]) -> (%y) {
  %y: f32[2] = Neg(%x)
}
)");
}

TEST(InferTypes, NamesTheNodeThatDoesNotFit) {
  const std::string text =
      after_pass(infer_types, R"(graph @main(%x: f32[2, 3], %w: f32[4, 5]) -> (%y) {
  %y: ? = MatMul(%x, %w) name "product"
}
)");
  EXPECT_EQ(text.substr(0, 32), "error: node 'product' (MatMul): ");
}

}  // namespace
}  // namespace sluice
