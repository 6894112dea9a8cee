#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldTransposeChain, ComposesPermutations) {
  expect_rewrite(fold_transpose_chain,
                 R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %a: f32[2, 4, 3] = Transpose(%x) {perm = [0, 2, 1]}
  %b: f32[3, 4, 2] = Transpose(%a)
  %y: f32[3, 4, 2] = Relu(%b)
}
)",
                 R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %b: f32[3, 4, 2] = Transpose(%x) {perm = [1, 2, 0]}
  %y: f32[3, 4, 2] = Relu(%b)
}
)");
}

TEST(FoldTransposeChain, ThereAndBackIsNothing) {
  expect_rewrite(fold_transpose_chain,
                 R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %a: f32[3, 4, 2] = Transpose(%x) {perm = [1, 2, 0]}
  %b: f32[2, 3, 4] = Transpose(%a) {perm = [2, 0, 1]}
  %y: f32[2, 3, 4] = Relu(%b)
}
)",
                 R"(graph @main(%x: f32[2, 3, 4]) -> (%y) {
  %y: f32[2, 3, 4] = Relu(%x)
}
)");
}

// Only inference rejects them, and an edited graph need not have passed it.
TEST(FoldTransposeChain, LeavesWhatIsNoPermutation) {
  for (const char* perm : {"[1, 2, 3]", "[-1, 1, 0]", "[0, 0, 1]"}) {
    expect_unchanged(fold_transpose_chain, fmt::format(R"(graph @main(%x: f32[2, 3, 4]) -> (%b) {{
  %a: f32[3, 4, 2] = Transpose(%x) {{perm = [1, 2, 0]}}
  %b: f32[3, 4, 2] = Transpose(%a) {{perm = {}}}
}}
)",
                                                       perm));
  }
}

TEST(FoldTransposeChain, LeavesSingleOnes) {
  expect_unchanged(fold_transpose_chain,
                   R"(graph @main(%x: f32[2, 3, 4]) -> (%b) {
  %a: f32[3, 4, 2] = Transpose(%x) {perm = [1, 2, 0]}
  %b: f32[3, 4, 2] = Relu(%a)
}
)");
}

}  // namespace
}  // namespace sluice
