#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldReshapeChain, OnlyTheLastShapeCounts) {
  expect_rewrite(fold_reshape_chain,
                 R"(graph @main(%x: f32[4, 6]) -> (%y) {
  %s = constant i64[2] [6, 4]
  %axis = constant i64[1] [0]
  %a: f32[6, 4] = Reshape(%x, %s)
  %b: f32[1, 6, 4] = Unsqueeze(%a, %axis)
  %c: f32[1, 24] = Flatten(%b) {axis = 1}
  %y: f32[1, 24] = Relu(%c)
}
)",
                 R"(graph @main(%x: f32[4, 6]) -> (%y) {
  %0 = constant i64[2] [1, 24]
  %c: f32[1, 24] = Reshape(%x, %0)
  %y: f32[1, 24] = Relu(%c)
}
)");
}

TEST(FoldReshapeChain, BackToTheStartIsNothing) {
  expect_rewrite(fold_reshape_chain,
                 R"(graph @main(%x: f32[4, 6]) -> (%y, %a) {
  %s = constant i64[2] [6, 4]
  %t = constant i64[2] [4, 6]
  %a: f32[6, 4] = Reshape(%x, %s)
  %b: f32[4, 6] = Reshape(%a, %t)
  %y: f32[4, 6] = Relu(%b)
}
)",
                 R"(graph @main(%x: f32[4, 6]) -> (%y, %a) {
  %s = constant i64[2] [6, 4]
  %a: f32[6, 4] = Reshape(%x, %s)
  %y: f32[4, 6] = Relu(%x)
}
)");
}

TEST(FoldReshapeChain, LeavesShapesThatAreNotFixed) {
  expect_unchanged(fold_reshape_chain,
                   R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f32[N, 6]) -> (%y) {
  %s = constant i64[3] [-1, 3, 2]
  %t = constant i64[2] [-1, 6]
  %a: f32[N, 3, 2] = Reshape(%x, %s)
  %b: f32[N, 6] = Reshape(%a, %t)
  %c: f32[N, 6, 1] = Reshape(%b, %s)
  %y: f32[N, 6, 1] = Relu(%c)
}
)");
}

}  // namespace
}  // namespace sluice
