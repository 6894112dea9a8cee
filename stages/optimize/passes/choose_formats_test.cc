#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

constexpr char kWeights[] = R"(  %w = constant f32[16, 16, 1, 1] splat 0.5
)";

std::string with_weights(const std::string& head, const std::string& nodes) {
  return head + kWeights + nodes;
}

TEST(ChooseFormats, ChainsOfConvolutionsStayInNhwc) {
  expect_rewrite(
      choose_formats,
      with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y) {
)",
                   R"(  %a: f32[1, 16, 4, 4] = Conv(%x, %w)
  %b: f32[1, 16, 4, 4] = Sigmoid(%a)
  %c: f32[1, 16, 2, 2] = MaxPool(%b) {kernel_shape = [2, 2], strides = [2, 2]}
  %y: f32[1, 16, 2, 2] = Conv(%c, %w)
}
)"),
      with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y) {
)",
                   R"(  %a: f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Conv(%x, %w)
  %b: f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Sigmoid(%a)
  %c: f32[1, 16, 2, 2] storage nhwc [1, 2, 2, 16] bytes 256 = MaxPool(%b) {kernel_shape = [2, 2], strides = [2, 2]}
  %y: f32[1, 16, 2, 2] = Conv(%c, %w)
}
)"));
}

TEST(ChooseFormats, ValuesAreCopiedOnceForAllReaders) {
  expect_rewrite(choose_formats,
                 with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y, %z, %r, %s) {
)",
                              R"(  %k = constant i64[2] [1, 256]
  %a: f32[1, 16, 4, 4] = Conv(%x, %w)
  %y: f32[1, 16, 4, 4] = Conv(%x, %w)
  %z: f32[1, 16, 4, 4] = Conv(%a, %w)
  %r: f32[1, 256] = Reshape(%a, %k)
  %b: f32[1, 16, 4, 4] = Relu(%a)
  %c: f32[1, 16, 4, 4] = Conv(%b, %w)
  %s: f32[1, 256] = Flatten(%a)
}
)"),
                 with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y, %z, %r, %s) {
)",
                              R"(  %k = constant i64[2] [1, 256]
  %"x:nhwc": f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = TransData(%x)
  %a: f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Conv(%"x:nhwc", %w)
  %"a:dense": f32[1, 16, 4, 4] = TransData(%a)
  %y: f32[1, 16, 4, 4] = Conv(%"x:nhwc", %w)
  %z: f32[1, 16, 4, 4] = Conv(%a, %w)
  %r: f32[1, 256] = Reshape(%"a:dense", %k)
  %b: f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Relu(%a)
  %c: f32[1, 16, 4, 4] = Conv(%b, %w)
  %s: f32[1, 256] = Flatten(%"a:dense")
}
)"));
}

// The dense copy takes the output's name.
TEST(ChooseFormats, OutputsAreDense) {
  expect_rewrite(
      choose_formats,
      with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%a, %y) {
)",
                   R"(  %a: f32[1, 16, 4, 4] = Conv(%x, %w)
  %y: f32[1, 16, 4, 4] = Conv(%a, %w)
}
)"),
      with_weights(
          R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%a, %y) {
)",
          R"(  %"a:nhwc": f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Conv(%x, %w)
  %a: f32[1, 16, 4, 4] = TransData(%"a:nhwc")
  %y: f32[1, 16, 4, 4] = Conv(%"a:nhwc", %w)
}
)"));
}

TEST(ChooseFormats, SymbolicSizes) {
  const std::string head = R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[N, 16, H, 4]) -> (%y) {
)";
  expect_rewrite(
      choose_formats, with_weights(head, R"(  %a: f32[N, 16, H, 4] = Conv(%x, %w)
  %b: f32[N, 16, H, 4] = Add(%a, %a)
  %y: f32[N, 16, H, 4] = Conv(%b, %w)
}
)"),
      with_weights(head,
                   R"(  %a: f32[N, 16, H, 4] storage nhwc [N, H, 4, 16] bytes 256*N*H = Conv(%x, %w)
  %b: f32[N, 16, H, 4] storage nhwc [N, H, 4, 16] bytes 256*N*H = Add(%a, %a)
  %y: f32[N, 16, H, 4] = Conv(%b, %w)
}
)"));
}

TEST(ChooseFormats, LeavesGraphsWithoutConvolutions) {
  expect_unchanged(choose_formats, R"(graph @main(%x: f32[2, 12, 64, 64]) -> (%y) {
  %a: f32[2, 12, 64, 64] = Softmax(%x)
  %y: f32[2, 12, 64, 64] = Relu(%a)
}
)");
}

// One channel, or one pixel, has the same bytes in both formats.
TEST(ChooseFormats, LeavesWhatHasOneFormat) {
  expect_unchanged(choose_formats, with_weights(R"(graph @main(%x: f32[8, 16, 1, 1]) -> (%y) {
)",
                                                R"(  %a: f32[8, 16, 1, 1] = Conv(%x, %w)
  %b: f32[8, 16, 1, 1] = Sigmoid(%a)
  %y: f32[8, 16, 1, 1] = Conv(%b, %w)
}
)"));
}

TEST(ChooseFormats, FewChannelsAreBetterDense) {
  expect_unchanged(choose_formats, R"(graph @main(%x: f32[1, 3, 64, 64]) -> (%y) {
  %w = constant f32[3, 3, 1, 1] splat 0.5
  %a: f32[1, 3, 64, 64] = Conv(%x, %w)
  %b: f32[1, 3, 64, 64] = Sigmoid(%a)
  %y: f32[1, 3, 64, 64] = Conv(%b, %w)
}
)");
}

TEST(ChooseFormats, KeepsWhatWasChosen) {
  expect_unchanged(choose_formats, with_weights(R"(graph @main(%x: f32[1, 16, 4, 4]) -> (%y) {
)",
                                                R"(  %a: f32[1, 16, 4, 4] = Conv(%x, %w)
  %b: f32[1, 16, 4, 4] storage nhwc [1, 4, 4, 16] bytes 1024 = Sigmoid(%a)
  %y: f32[1, 16, 4, 4] = Conv(%b, %w)
}
)"));
}

}  // namespace
}  // namespace sluice
