#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(FoldPadIntoConv, AddsToTheConvolutionsPads) {
  expect_rewrite(fold_pad_into_conv,
                 R"(graph @main(%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3]) -> (%y) {
  %pads = constant i64[8] [0, 0, 1, 2, 0, 0, 3, 0]
  %a: f32[1, 2, 9, 7] = Pad(%x, %pads)
  %y: f32[1, 3, 9, 7] = Conv(%a, %w) {pads = [1, 1, 1, 1]}
}
)",
                 R"(graph @main(%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3]) -> (%y) {
  %y: f32[1, 3, 9, 7] = Conv(%x, %w) {pads = [2, 3, 4, 1]}
}
)");
}

TEST(FoldPadIntoConv, NotWithOtherValuesAxesOrModes) {
  expect_unchanged(
      fold_pad_into_conv,
      R"(graph @main(%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %v: f32[3, 4, 3, 3]) -> (%p, %q, %r) {
  %pads = constant i64[8] [0, 0, 1, 1, 0, 0, 1, 1]
  %channels = constant i64[8] [0, 1, 0, 0, 0, 1, 0, 0]
  %one = constant f32[] [1]
  %a: f32[1, 2, 7, 7] = Pad(%x, %pads, %one)
  %b: f32[1, 4, 5, 5] = Pad(%x, %channels)
  %c: f32[1, 2, 7, 7] = Pad(%x, %pads) {mode = "reflect"}
  %p: f32[1, 3, 5, 5] = Conv(%a, %w)
  %q: f32[1, 3, 3, 3] = Conv(%b, %v)
  %r: f32[1, 3, 5, 5] = Conv(%c, %w)
}
)");
}

}  // namespace
}  // namespace sluice
