#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldConstants, FoldsChains) {
  expect_rewrite(fold_constants,
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %two = constant f32[2] [2, 3]
  %three = constant f32[] [3]
  %a: f32[2] = Add(%two, %three)
  %b: f32[2] = Mul(%a, %a)
  %y: f32[2] = Mul(%x, %b)
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %b = constant f32[2] [25, 36]
  %y: f32[2] = Mul(%x, %b)
}
)");
}

TEST(FoldConstants, LeavesNodesOfEndlessWork) {
  expect_unchanged(fold_constants,
                   R"(graph @main(%x: f32[]) -> (%y) {
  %m = constant f32[4, 4] [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]
  %e: f32[] = Einsum(%m, %m, %m, %m, %m, %m, %m, %m, %m, %m, %m, %m) {equation = "ab,cd,ef,gh,ij,kl,mn,op,qr,st,uv,wx->"}
  %y: f32[] = Mul(%x, %e)
}
)");
}

TEST(FoldConstants, LeavesLargeRandomKeptAndOutputNodes) {
  expect_unchanged(fold_constants,
                   R"(graph @main(%x: f32[9000]) -> (%y, %e) {
  %one = constant f32[9000] splat 1
  %two = constant f32[2] [1, 2]
  %a: f32[9000] = Neg(%one)
  %b: f32[2] = RandomNormalLike(%two)
  %c: f32[2] = Neg(%two) placement {no_fold}
  %d: f32[2] = Add(%b, %c)
  %e: f32[2] = Exp(%two)
  %y: f32[9000] = Mul(%x, %a)
  %z: f32[2] = Relu(%d)
}
)");
}

TEST(FoldConstants, LeavesWhatTheEvaluatorRefuses) {
  expect_unchanged(fold_constants,
                   R"(graph @main(%x: f32[1]) -> (%y) {
  %table = constant f32[2] [1, 2]
  %index = constant i64[1] [7]
  %a: f32[1] = Gather(%table, %index)
  %y: f32[1] = Mul(%x, %a)
}
)");
}

}  // namespace
}  // namespace sluice
