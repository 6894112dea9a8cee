#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldTransposeIntoWeights, LeavesScalesInBlocks) {
  expect_unchanged(fold_transpose_into_weights, R"(graph @main(%x: f32[1]) -> (%y) {
  %w = constant i8[2, 4] [1, 2, 3, 4, 5, 6, 7, 8]
  %s = constant f32[2, 2] [1, 2, 3, 4]
  %0: f32[2, 4] = DequantizeLinear(%w, %s) {axis = 1, block_size = 2}
  %y: f32[4, 2] = Transpose(%0) {perm = [1, 0]}
}
)");
}

TEST(FoldTransposeIntoWeights, LeavesWhatIsNoConstant) {
  expect_unchanged(fold_transpose_into_weights, R"(graph @main(%w: i8[2, 4]) -> (%y) {
  %s = constant f32[] [0.5]
  %0: f32[2, 4] = DequantizeLinear(%w, %s)
  %y: f32[4, 2] = Transpose(%0) {perm = [1, 0]}
}
)");
}

}  // namespace
}  // namespace sluice
