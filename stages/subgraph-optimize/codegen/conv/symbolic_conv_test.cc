// Tests convolutions and layout copies of symbolic sizes: one kernel at many sizes and numbers of
// blocks, against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "stages/subgraph-optimize/codegen/testing/conv_specs.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

using Symbols = std::vector<int64_t>;  // n, h, w, oh, ow, then depths of x and y

class SymbolicConv : public KernelTest {
 protected:
  SymbolicConv() : KernelTest(29) {}

  // A convolution whose image sizes are symbols; bottom and right are the padding on the far sides.
  struct Case {
    ConvSpec spec;
    int64_t bottom = 0, right = 0;

    // Returns the symbols' values at a size; negative output sizes count as 0.
    Symbols at(int64_t n, int64_t h, int64_t w) const {
      const int64_t high = h + spec.pad_top + bottom - (spec.kh - 1) * spec.dilation_h;
      const int64_t wide = w + spec.pad_left + right - (spec.kw - 1) * spec.dilation_w;
      return {n, h, w, high < 1 ? 0 : (high - 1) / spec.stride_h + 1,
              wide < 1 ? 0 : (wide - 1) / spec.stride_w + 1};
    }
  };

  static void set_sizes(Case& c, int64_t n, int64_t h, int64_t w) {
    const Symbols nominal = c.at(n, h, w);
    Extent* extents[] = {&c.spec.n, &c.spec.h, &c.spec.w, &c.spec.oh, &c.spec.ow};
    for (uint16_t i = 0; i < 5; ++i) *extents[i] = Extent::of_symbol(i, nominal[i]);
  }

  Case random_case(int64_t channels, bool depthwise) {
    Case c;
    ConvSpec& s = c.spec;
    s.groups = depthwise ? draw(1, channels) : draw(0, 2) == 0 ? draw(2, 4) : 1;
    s.ci = depthwise ? s.groups : s.groups * draw(1, std::max<int64_t>(1, channels / s.groups));
    s.co = depthwise ? s.groups : s.groups * draw(1, std::max<int64_t>(1, channels / s.groups));
    s.kh = draw(1, 5), s.kw = draw(1, 5);
    s.stride_h = draw(1, 3), s.stride_w = draw(1, 3);
    s.dilation_h = draw(1, 3), s.dilation_w = draw(1, 3);
    s.pad_top = draw(0, 3), s.pad_left = draw(0, 3);
    c.bottom = draw(0, 3), c.right = draw(0, 3);
    set_sizes(c, 1, 20, 20);
    return c;
  }

  std::vector<float> run(RunnableKernel& kernel, size_t elements, DType stored,
                         std::vector<std::vector<std::byte>> inputs, const Symbols& symbols) {
    std::vector<float> first;
    const size_t element_bytes = stored == DType::kF32 ? 4 : 2;
    for (const uint32_t blocks : {1u, 2u, 5u, 32u, 0u}) {
      std::vector<std::byte> results =
          elements_of(std::vector<float>(elements + 2 * kGuardElements, kUntouchedFloat), stored);
      std::vector<void*> pointers = {results.data() + kGuardElements * element_bytes};
      for (std::vector<std::byte>& input : inputs) pointers.push_back(input.data());
      kernel.run(pointers, symbols, blocks);
      const std::vector<float> y = numbers_of(results, stored);
      for (size_t i = 0; i < kGuardElements; ++i) {
        EXPECT_EQ(y[i], kUntouchedFloat);
        EXPECT_EQ(y[y.size() - 1 - i], kUntouchedFloat);
      }
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << blocks << " blocks";
    }
    return {first.begin() + kGuardElements, first.end() - kGuardElements};
  }

  struct Kernel {
    ConvKind kind;
    RunnableKernel kernel;
    StridedPacking packing;
  };

  // Returns a kernel of every kind that the spec allows.
  std::vector<Kernel> kernels(const Case& c, bool with_epilogue) {
    std::vector<Kernel> result;
    ConvSpec s = c.spec;
    const auto add = [&](ConvKind kind, const Result<GeneratedKernel>& made,
                         const StridedPacking& packing) {
      ASSERT_TRUE(made.ok()) << error_text(made.error());
      EXPECT_GT(made->multiply_adds_per_block, 0);
      EXPECT_LE(made->scratch_bytes, static_cast<uint64_t>(profile_.scratch_limit));
      auto runnable = RunnableKernel::load(*made);
      ASSERT_TRUE(runnable.ok());
      result.push_back({kind, *std::move(runnable), packing});
    };
    if (with_epilogue)
      add_bias_and_residual(s, EpilogueOperand::column(),
                            EpilogueOperand::full(s.co, {output_pixels(s) * s.co}));
    add(ConvKind::kContraction, generate_conv(s, profile_),
        conv_weight_packing(s, choose_conv_plan(s, profile_).nr));
    if (const DepthwisePlan plan = choose_depthwise_plan(s, profile_); plan.possible) {
      add(ConvKind::kDepthwise, generate_depthwise({s}, profile_),
          depthwise_weight_packing(s, plan.nr));
    }
    if (with_epilogue)
      add_bias_and_residual(s, EpilogueOperand::row(),
                            EpilogueOperand::full(output_pixels(s), {output_pixels(s) * s.co}));
    if (const DirectConvPlan plan = choose_direct_plan(s, profile_); plan.possible) {
      add(ConvKind::kDirect, generate_direct_conv({s}, profile_),
          direct_weight_packing(s, plan.rows));
    }
    return result;
  }

  void check(const Case& c, const std::vector<Symbols>& runs, bool with_epilogue) {
    runs_ += static_cast<int>(runs.size());
    if (is_left_out()) return;
    SCOPED_TRACE(canonical_text(c.spec));
    std::vector<Kernel> made = kernels(c, with_epilogue);
    if (!is_runnable_) return;
    const auto weights = random_floats(
        static_cast<size_t>(c.spec.co * (c.spec.ci / c.spec.groups) * kernel_positions(c.spec)),
        random_, c.spec.dtype);
    const auto bias = random_floats(static_cast<size_t>(c.spec.co), random_, c.spec.dtype);
    for (const Symbols& symbols : runs) {
      SCOPED_TRACE(testing::PrintToString(symbols));
      ConvSpec s = fixed_at(c.spec, symbols);
      if (with_epilogue)
        add_bias_and_residual(s, EpilogueOperand::column(), EpilogueOperand::full(s.co));
      const int64_t n = s.n.nominal, pixels = input_pixels(s).nominal,
                    image = output_pixels(s).nominal;
      const auto x = random_floats(static_cast<size_t>(n * pixels * s.ci), random_, s.dtype);
      const auto residual = random_floats(static_cast<size_t>(n * image * s.co), random_, s.dtype);
      const DType stored = s.epilogue.stored(DType::kF32);
      const std::vector<double> expected =
          reference_conv(s, x.data(), weights.data(), {bias.data(), residual.data()});
      for (Kernel& kernel : made) {
        SCOPED_TRACE(static_cast<int>(kernel.kind));
        const bool is_dense = kernel.kind == ConvKind::kDirect;
        auto packed = reference_pack(kernel.packing, weights.data());
        if (kernel.kind == ConvKind::kContraction && has_pairs(s))
          packed = in_pairs(packed, kernel_positions(s) * (s.ci / s.groups), kernel.packing.nr);
        const auto own_x = is_dense ? transposed(x, n, pixels, s.ci) : x;
        const auto own_residual = is_dense ? transposed(residual, n, image, s.co) : residual;
        auto y =
            run(kernel.kernel, expected.size(), stored,
                {elements_of(own_x, s.dtype), elements_of(packed, is_dense ? DType::kF32 : s.dtype),
                 elements_of(bias, s.dtype), elements_of(own_residual, s.dtype)},
                symbols);
        if (is_dense) y = transposed(y, n, s.co, image);
        const double tolerance = 2e-6 * std::sqrt(static_cast<double>(kernel_positions(s) * s.ci)) +
                                 3e-6 + rounding_error(stored);
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
              << "element " << i;
        }
      }
    }
  }

  std::vector<Symbols> some_sizes(const Case& c, int count) {
    std::vector<Symbols> runs = {c.at(0, 20, 20), c.at(1, 0, 9), c.at(1, 1, 1), c.at(2, 20, 20),
                                 c.at(1, 45, 61)};
    for (int i = 0; i < count; ++i) runs.push_back(c.at(draw(1, 3), draw(1, 34), draw(1, 34)));
    return runs;
  }
  int runs_ = 0;
};

TEST_P(SymbolicConv, FewChannels) {
  for (int i = 0; i < 10; ++i) {
    const Case c = random_case(12, false);
    check(c, some_sizes(c, 8), i % 2 == 0);
  }
  EXPECT_EQ(runs_, 130);
}

TEST_P(SymbolicConv, Halves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (int i = 0; i < 4; ++i) {
      Case c = random_case(i % 2 == 0 ? 12 : 40, i == 2);
      c.spec.dtype = dtype;
      check(c, some_sizes(c, 2), i != 1);
    }
  }
}

TEST_P(SymbolicConv, ManyChannels) {
  for (int i = 0; i < 8; ++i) {
    const Case c = random_case(70, false);
    check(c, some_sizes(c, 5), i % 2 == 0);
  }
}

TEST_P(SymbolicConv, Depthwise) {
  for (int i = 0; i < 10; ++i) {
    const Case c = random_case(40, true);
    check(c, some_sizes(c, 8), i % 2 == 0);
  }
}

TEST_P(SymbolicConv, ThreeAxes) {
  for (int i = 0; i < 8; ++i) {
    Case c = random_case(i % 2 == 0 ? 12 : 40, false);
    ConvDepth& d = c.spec.depth;
    d.kernel = draw(1, 3), d.stride = draw(1, 2), d.dilation = draw(1, 2), d.pad = draw(0, 2);
    const auto with_depth = [&](Symbols symbols, int64_t in) {
      const int64_t free = in + 2 * d.pad - (d.kernel - 1) * d.dilation - 1;
      symbols.insert(symbols.end(), {in, free < 0 ? 0 : free / d.stride + 1});
      return symbols;
    };
    const Symbols nominal = with_depth(c.at(1, 20, 20), 8);
    d.in = Extent::of_symbol(5, nominal[5]), d.out = Extent::of_symbol(6, nominal[6]);
    check(c,
          {nominal, with_depth(c.at(2, 9, 5), 1), with_depth(c.at(1, 1, 12), 5),
           with_depth(c.at(2, 7, 7), 0), with_depth(c.at(3, 4, 11), 6)},
          i % 4 < 2);
  }
}

TEST_P(SymbolicConv, Pointwise) {
  for (const int64_t co : {1, 24, 100}) {
    Case c{{.ci = 40, .co = co}};
    set_sizes(c, 1, 20, 20);
    check(c, some_sizes(c, 5), true);
  }
}

TEST_P(SymbolicConv, NetworkShapes) {
  Case first{{.ci = 3,
              .co = 40,
              .kh = 7,
              .kw = 7,
              .stride_h = 2,
              .stride_w = 2,
              .pad_top = 3,
              .pad_left = 3},
             3,
             3};
  set_sizes(first, 1, 64, 64);
  check(first, {first.at(1, 64, 64), first.at(2, 33, 90)}, false);
  Case middle{{.ci = 32, .co = 48, .kh = 3, .kw = 3, .pad_top = 1, .pad_left = 1}, 1, 1};
  set_sizes(middle, 2, 14, 14);
  check(middle,
        {middle.at(2, 14, 14), middle.at(1, 7, 7), middle.at(1, 40, 30), middle.at(4, 2, 1)}, true);
}

// Here only some of the sizes are symbols.
TEST_P(SymbolicConv, FreeBatchOrWidth) {
  Case c{{.ci = 20, .co = 30, .kh = 3, .kw = 3, .pad_top = 1, .pad_left = 1}, 1, 1};
  set_sizes(c, 2, 14, 14);
  Case batch = c;
  for (Extent* extent : {&batch.spec.h, &batch.spec.w, &batch.spec.oh, &batch.spec.ow})
    *extent = 14;
  check(batch, {c.at(0, 14, 14), c.at(1, 14, 14), c.at(5, 14, 14)}, true);
  Case wide = c;
  wide.spec.n = 1, wide.spec.h = 14, wide.spec.oh = 14;
  check(wide, {c.at(1, 14, 0), c.at(1, 14, 1), c.at(1, 14, 14), c.at(1, 14, 53)}, true);
}

// Rows that the scratch cannot hold are computed in pieces.
TEST_P(SymbolicConv, RowsWiderThanTheScratch) {
  profile_.scratch_limit = 12 << 10;
  int direct = 0;
  for (int i = 0; i < 24; ++i) {
    const Case c = random_case(12, false);
    direct += choose_direct_plan(c.spec, profile_).piece_columns > 0 ? 1 : 0;
    check(c,
          {c.at(1, 20, 20), c.at(2, 9, 150), c.at(1, 3, 700), c.at(2, 17, 61), c.at(1, 1, 333),
           c.at(1, 40, 1)},
          i % 2 == 0);
  }
  EXPECT_GE(direct, 8);
}

TEST_P(SymbolicConv, AnyWidth) {
  Case c{{.ci = 64, .co = 6, .kh = 5, .kw = 5, .pad_top = 2, .pad_left = 2}, 2, 2};
  set_sizes(c, 1, 20, 20);
  EXPECT_GT(choose_direct_plan(c.spec, profile_).piece_columns, 0);
  check(c, {c.at(1, 3, 60), c.at(1, 2, 1200)}, true);
}

// With a fixed width the scratch decides how many rows a chunk has: the same number for one image
// as for any number of images.
TEST_P(SymbolicConv, FreeBatchOfLargeImages) {
  for (const auto& [channels, size, kernel] :
       {std::tuple{64, 192, 3}, {128, 112, 3}, {64, 112, 5}, {64, 224, 3}, {3, 4000, 7}}) {
    ConvSpec s = square_conv(1, size, channels, channels, kernel);
    s.n = Extent::of_symbol(0, 4);
    const DirectConvPlan plan = choose_direct_plan(s, profile_);
    if (!plan.possible) continue;
    const auto made = generate_direct_conv({s}, profile_);
    ASSERT_TRUE(made.ok()) << error_text(made.error());
    EXPECT_LE(made->scratch_bytes, static_cast<uint64_t>(profile_.scratch_limit));
    EXPECT_EQ(made->scratch_bytes, plan.scratch_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, SymbolicConv, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
