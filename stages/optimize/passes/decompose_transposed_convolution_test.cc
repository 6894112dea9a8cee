#include <gtest/gtest.h>

#include <random>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "stages/optimize/passes/passes.h"
#include "stages/optimize/passes/transposed_phases.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

// Phases of the same size are one convolution, with the bias where they are joined.
TEST(DecomposeTransposedConvolution, WithEqualPhases) {
  expect_rewrite(decompose_transposed_convolution,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[N, 4, H, 5], %w: f32[4, 3, 4, 2], %b: f32[6]) -> (%y) {
  %y: f32[N, 6, 2*H, 10] = ConvTranspose(%x, %w, %b) {group = 2, pads = [1, 0, 1, 0], strides = [2, 2]}
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
graph @main(%x: f32[N, 4, H, 5], %w: f32[4, 3, 4, 2], %b: f32[6]) -> (%y) {
  %0 = constant i64[7] [2, 2, 3, 2, 2, 1, 2]
  %1 = constant i64[2] [1, 0]
  %2 = constant i64[2] [-9223372036854775808, -9223372036854775808]
  %3 = constant i64[2] [3, 5]
  %4 = constant i64[2] [-1, -1]
  %5 = constant i64[4] [24, 2, 2, 1]
  %6 = constant i64[3] [6, 1, 1]
  %7: f32[2, 2, 3, 2, 2, 1, 2] = Reshape(%w, %0)
  %8: f32[2, 2, 3, 2, 2, 1, 2] = Slice(%7, %1, %2, %3, %4)
  %9: f32[2, 2, 2, 3, 2, 2, 1] = Transpose(%8) {perm = [0, 4, 6, 2, 1, 3, 5]}
  %10: f32[24, 2, 2, 1] = Reshape(%9, %5)
  %11: f32[N, 24, H + 1, 5] = Conv(%x, %10) {group = 2, pads = [1, 0, 1, 0]}
  %12: f32[N, 6, 2*H, 10] = Interleave(%11) {group = 2, pads = [1, 0, 1, 0], strides = [2, 2]}
  %13: f32[6, 1, 1] = Reshape(%b, %6)
  %y: f32[N, 6, 2*H, 10] = Add(%12, %13)
}
)");
}

// A stride of 1 leaves a convolution by the taps in reverse.
TEST(DecomposeTransposedConvolution, WithOnePhase) {
  expect_rewrite(decompose_transposed_convolution,
                 R"(graph @main(%x: f32[1, 4, 5, 5], %w: f32[4, 3, 3, 3], %b: f32[3]) -> (%y) {
  %y: f32[1, 3, 7, 5] = ConvTranspose(%x, %w, %b) {pads = [0, 1, 0, 1]}
}
)",
                 R"(graph @main(%x: f32[1, 4, 5, 5], %w: f32[4, 3, 3, 3], %b: f32[3]) -> (%y) {
  %0 = constant i64[7] [1, 4, 3, 3, 1, 3, 1]
  %1 = constant i64[2] [2, 2]
  %2 = constant i64[2] [-9223372036854775808, -9223372036854775808]
  %3 = constant i64[2] [3, 5]
  %4 = constant i64[2] [-1, -1]
  %5 = constant i64[4] [3, 4, 3, 3]
  %6: f32[1, 4, 3, 3, 1, 3, 1] = Reshape(%w, %0)
  %7: f32[1, 4, 3, 3, 1, 3, 1] = Slice(%6, %1, %2, %3, %4)
  %8: f32[1, 1, 1, 3, 4, 3, 3] = Transpose(%7) {perm = [0, 4, 6, 2, 1, 3, 5]}
  %9: f32[3, 4, 3, 3] = Reshape(%8, %5)
  %y: f32[1, 3, 7, 5] = Conv(%x, %9, %b) {pads = [2, 1, 2, 1]}
}
)");
}

// A phase of another size is a convolution of its own.
TEST(DecomposeTransposedConvolution, WithDifferentPhases) {
  expect_rewrite(decompose_transposed_convolution,
                 R"(graph @main(%x: f32[1, 4, 5, 5], %w: f32[4, 3, 3, 1]) -> (%y) {
  %y: f32[1, 3, 10, 5] = ConvTranspose(%x, %w) {output_padding = [1, 0], pads = [1, 0, 1, 0], strides = [2, 1]}
}
)",
                 R"(graph @main(%x: f32[1, 4, 5, 5], %w: f32[4, 3, 3, 1]) -> (%y) {
  %0 = constant i64[5] [1, 4, 3, 3, 1]
  %1 = constant i64[2] [1, 0]
  %2 = constant i64[2] [-9223372036854775808, -9223372036854775808]
  %3 = constant i64[2] [3, 4]
  %4 = constant i64[2] [-2, -1]
  %5 = constant i64[4] [3, 4, 1, 1]
  %6 = constant i64[5] [1, 4, 3, 3, 1]
  %7 = constant i64[2] [2, 0]
  %8 = constant i64[2] [-9223372036854775808, -9223372036854775808]
  %9 = constant i64[2] [3, 4]
  %10 = constant i64[2] [-2, -1]
  %11 = constant i64[4] [3, 4, 2, 1]
  %12: f32[1, 4, 3, 3, 1] = Reshape(%w, %0)
  %13: f32[1, 4, 3, 1, 1] = Slice(%12, %1, %2, %3, %4)
  %14: f32[1, 3, 4, 1, 1] = Transpose(%13) {perm = [0, 2, 1, 3, 4]}
  %15: f32[3, 4, 1, 1] = Reshape(%14, %5)
  %16: f32[1, 3, 5, 5] = Conv(%x, %15)
  %17: f32[1, 4, 3, 3, 1] = Reshape(%w, %6)
  %18: f32[1, 4, 3, 2, 1] = Slice(%17, %7, %8, %9, %10)
  %19: f32[1, 3, 4, 2, 1] = Transpose(%18) {perm = [0, 2, 1, 3, 4]}
  %20: f32[3, 4, 2, 1] = Reshape(%19, %11)
  %21: f32[1, 3, 5, 5] = Conv(%x, %20) {pads = [0, 0, 1, 0]}
  %y: f32[1, 3, 10, 5] = Interleave(%16, %21) {strides = [2, 1]}
}
)");
}

// The weight of a model is taken apart by sluice-build.
TEST(DecomposeTransposedConvolution, WeightsBecomeConstantExpressions) {
  expect_rewrite(decompose_transposed_convolution,
                 R"(constant $0 = f32[2, 1, 1, 2] [1, 2, 3, 4]
graph @main(%x: f32[1, 2, 5, 5]) -> (%y) {
  %w = constant f32[2, 1, 1, 2] expression @w($0)
  %y: f32[1, 1, 5, 10] = ConvTranspose(%x, %w) {strides = [1, 2]}
}
graph @w(%0: f32[2, 1, 1, 2]) -> (%1) expression {
  %1: f32[2, 1, 1, 2] = Neg(%0)
}
)",
                 R"(constant $0 = f32[2, 1, 1, 2] [1, 2, 3, 4]
graph @main(%x: f32[1, 2, 5, 5]) -> (%y) {
  %0 = constant f32[2, 2, 1, 1] expression @0()
  %1: f32[1, 2, 5, 5] = Conv(%x, %0)
  %y: f32[1, 1, 5, 10] = Interleave(%1) {strides = [1, 2]}
}
graph @w(%0: f32[2, 1, 1, 2]) -> (%1) expression {
  %1: f32[2, 1, 1, 2] = Neg(%0)
}
graph @0() -> (%5) expression {
  %0 = constant f32[2, 1, 1, 2] expression @w($0)
  %1 = constant i64[7] [1, 2, 1, 1, 1, 1, 2]
  %2 = constant i64[4] [2, 2, 1, 1]
  %3: f32[1, 2, 1, 1, 1, 1, 2] = Reshape(%0, %1)
  %4: f32[1, 1, 2, 1, 2, 1, 1] = Transpose(%3) {perm = [0, 4, 6, 2, 1, 3, 5]}
  %5: f32[2, 2, 1, 1] = Reshape(%4, %2)
}
)");
}

TEST(DecomposeTransposedConvolution, HalvesStayHalves) {
  expect_rewrite(decompose_transposed_convolution,
                 R"(graph @main(%x: bf16[1, 4, 5, 5], %w: bf16[4, 3, 2, 2]) -> (%y) {
  %y: bf16[1, 3, 10, 10] = ConvTranspose(%x, %w) {strides = [2, 2]}
}
)",
                 R"(graph @main(%x: bf16[1, 4, 5, 5], %w: bf16[4, 3, 2, 2]) -> (%y) {
  %0 = constant i64[7] [1, 4, 3, 1, 2, 1, 2]
  %1 = constant i64[4] [12, 4, 1, 1]
  %2: bf16[1, 4, 3, 1, 2, 1, 2] = Reshape(%w, %0)
  %3: bf16[1, 2, 2, 3, 4, 1, 1] = Transpose(%2) {perm = [0, 4, 6, 2, 1, 3, 5]}
  %4: bf16[12, 4, 1, 1] = Reshape(%3, %1)
  %5: bf16[1, 12, 5, 5] = Conv(%x, %4)
  %y: bf16[1, 3, 10, 10] = Interleave(%5) {strides = [2, 2]}
}
)");
}

TEST(DecomposeTransposedConvolution, UnknownSizesAndOtherDtypesStay) {
  expect_unchanged(decompose_transposed_convolution,
                   R"(graph @main(%x: f32[1, 4, ?, 5], %w: f32[4, 3, 3, 3]) -> (%y) {
  %y: f32[1, 3, ?, 7] = ConvTranspose(%x, %w)
}
)");
  expect_unchanged(decompose_transposed_convolution,
                   R"(graph @main(%x: f64[1, 4, 5, 5], %w: f64[4, 3, 3, 3]) -> (%y) {
  %y: f64[1, 3, 7, 7] = ConvTranspose(%x, %w)
}
)");
}

struct Draw {
  std::mt19937 random;
  int64_t operator()(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
};

// Draws a node with any attributes whose result is not empty; empty text: it would be.
std::string draw_graph(Draw& draw) {
  const int64_t group = draw(1, 3), in = group * draw(1, 3), out = group * draw(1, 3);
  std::vector<int64_t> x = {draw(1, 2), in}, w = {in, out / group}, y = {x[0], out};
  std::vector<int64_t> strides, dilations, extra, pads(4), shape;
  const std::string auto_pad = std::vector<std::string>{
      "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}[static_cast<size_t>(draw(0, 4))];
  const bool is_same = auto_pad.starts_with("SAME"), is_sized = draw(0, 4) == 0;
  for (size_t i = 0; i < 2; ++i) {
    x.push_back(draw(1, 6)), w.push_back(draw(1, 6));
    strides.push_back(draw(1, 4)), dilations.push_back(draw(1, 3));
    extra.push_back(draw(0, strides[i] - 1));
    const int64_t whole =
        (x[i + 2] - 1) * strides[i] + (w[i + 2] - 1) * dilations[i] + 1 + extra[i];
    if (auto_pad == "NOTSET" && !is_sized) pads[i] = draw(0, 4), pads[i + 2] = draw(0, 4);
    shape.push_back(std::max<int64_t>(whole + draw(-4, 1), 1));
    y.push_back(is_sized  ? shape[i]
                : is_same ? x[i + 2] * strides[i]
                          : whole - pads[i] - pads[i + 2]);
    if (y.back() < 1) return {};
  }
  const std::string bias = draw(0, 1) == 1 ? fmt::format(", %b: f32[{}]", out) : "";
  return fmt::format(
      "graph @main(%x: f32[{}], %w: f32[{}]{}) -> (%y) {{\n"
      "  %y: f32[{}] = ConvTranspose(%x, %w{}) {{auto_pad = \"{}\", dilations = [{}], group = {}, "
      "output_padding = [{}], {}pads = [{}], strides = [{}]}}\n}}\n",
      fmt::join(x, ", "), fmt::join(w, ", "), bias, fmt::join(y, ", "), bias.empty() ? "" : ", %b",
      auto_pad, fmt::join(dilations, ", "), group, fmt::join(extra, ", "),
      is_sized ? fmt::format("output_shape = [{}], ", fmt::join(shape, ", ")) : "",
      fmt::join(pads, ", "), fmt::join(strides, ", "));
}

TEST(DecomposeTransposedConvolution, MeansTheSame) {
  Draw draw;
  for (int i = 0; i < 400; ++i) {
    const std::string graph = draw_graph(draw);
    SCOPED_TRACE(graph);
    if (!graph.empty())
      expect_decomposed(decompose_transposed_convolution, graph, Op::kConvTranspose);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice
