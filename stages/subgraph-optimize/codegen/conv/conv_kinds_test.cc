#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/conv_specs.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

class ConvKinds : public KernelTest {
 protected:
  ConvKinds() : KernelTest(17) {}

  enum class Groups { kAny, kOne, kDepthwise, kMultiplied };

  ConvSpec random_spec(Groups groups) {
    while (true) {
      ConvSpec s;
      s.n = draw(1, 3), s.h = draw(1, 40), s.w = draw(1, 40);
      s.kh = draw(1, 7), s.kw = draw(1, 7);
      s.stride_h = draw(1, 3), s.stride_w = draw(1, 3), s.dilation_h = draw(1, 3),
      s.dilation_w = draw(1, 3);
      s.pad_top = draw(0, 6), s.pad_left = draw(0, 6);
      s.groups = groups == Groups::kOne ? 1 : draw(1, groups == Groups::kAny ? 5 : 40);
      s.ci = s.groups * (groups == Groups::kAny || groups == Groups::kOne ? draw(1, 8) : 1);
      s.co = groups == Groups::kDepthwise
                 ? s.ci
                 : s.groups * draw(1, groups == Groups::kMultiplied ? 4 : 20);
      const int64_t high = s.h.nominal + s.pad_top + draw(0, 6) - (s.kh - 1) * s.dilation_h - 1;
      const int64_t wide = s.w.nominal + s.pad_left + draw(0, 6) - (s.kw - 1) * s.dilation_w - 1;
      if (high < 0 || wide < 0) continue;
      s.oh = high / s.stride_h + 1, s.ow = wide / s.stride_w + 1;
      return s;
    }
  }

  std::vector<float> run(const Result<GeneratedKernel>& kernel, size_t elements, DType stored,
                         std::vector<std::vector<std::byte>> inputs) {
    EXPECT_TRUE(kernel.ok()) << error_text(kernel.error());
    if (!kernel.ok()) return {};
    auto runnable = RunnableKernel::load(*kernel);
    EXPECT_TRUE(runnable.ok());
    if (!is_runnable_) return std::vector<float>(elements);
    std::vector<std::byte> results =
        elements_of(std::vector<float>(elements + kGuardElements, kUntouchedFloat), stored);
    std::vector<void*> pointers = {results.data()};
    for (std::vector<std::byte>& input : inputs) pointers.push_back(input.data());
    for (uint32_t block = runnable->blocks(); block-- > 0;) runnable->run_block(pointers, block);
    std::vector<float> y = numbers_of(results, stored);
    for (size_t i = elements; i < y.size(); ++i) EXPECT_EQ(y[i], kUntouchedFloat);
    y.resize(elements);
    return y;
  }

  // Runs every kind that the spec allows on the same numbers.
  void check(ConvSpec s, bool with_epilogue) {
    const int64_t image = output_pixels(s).nominal;
    if (with_epilogue)
      add_bias_and_residual(s, EpilogueOperand::column(), EpilogueOperand::full(s.co));
    SCOPED_TRACE(canonical_text(s));
    const int64_t pixels = input_pixels(s).nominal;
    const auto x =
        random_floats(static_cast<size_t>(s.n.nominal * pixels * s.ci), random_, s.dtype);
    const auto weights = random_floats(
        static_cast<size_t>(s.co * (s.ci / s.groups) * kernel_positions(s)), random_, s.dtype);
    const auto bias = random_floats(static_cast<size_t>(s.co), random_, s.dtype);
    const auto residual =
        random_floats(static_cast<size_t>(s.n.nominal * image * s.co), random_, s.dtype);
    const auto of_dtype = [&](const std::vector<float>& floats) {
      return elements_of(floats, s.dtype);
    };
    const DType stored = s.epilogue.stored(DType::kF32);
    std::vector<const float*> operands;
    if (with_epilogue) operands = {bias.data(), residual.data()};
    const std::vector<double> expected = reference_conv(s, x.data(), weights.data(), operands);

    if (const DepthwisePlan plan = choose_depthwise_plan(s, profile_); plan.possible) {
      const auto packed = reference_pack(depthwise_weight_packing(s, plan.nr), weights.data());
      std::vector<std::vector<std::byte>> inputs = {of_dtype(x), of_dtype(packed)};
      if (with_epilogue) inputs.insert(inputs.end(), {of_dtype(bias), of_dtype(residual)});
      ++depthwise_;
      if (!is_left_out())
        compare(s, run(generate_depthwise({s}, profile_), expected.size(), stored, inputs),
                expected);
    }
    if (const DirectConvPlan plan = choose_direct_plan(s, profile_); plan.possible) {
      const auto dense_x = transposed(x, s.n.nominal, pixels, s.ci),
                 dense_residual = transposed(residual, s.n.nominal, image, s.co);
      const auto packed = reference_pack(direct_weight_packing(s, plan.rows), weights.data());
      // The weights are f32 whatever x is.
      std::vector<std::vector<std::byte>> inputs = {of_dtype(dense_x),
                                                    elements_of(packed, DType::kF32)};
      if (with_epilogue) {
        add_bias_and_residual(s, EpilogueOperand::row(),
                              EpilogueOperand::full(image, {s.co * image}));
        inputs.insert(inputs.end(), {of_dtype(bias), of_dtype(dense_residual)});
      }
      ++direct_;
      if (is_left_out()) return;
      const auto y = run(generate_direct_conv({s}, profile_), expected.size(), stored, inputs);
      compare(s, transposed(y, s.n.nominal, s.co, image), expected);
    }
  }

  void compare(const ConvSpec& s, const std::vector<float>& y,
               const std::vector<double>& expected) const {
    if (!is_runnable_) return;
    const double length = static_cast<double>(kernel_positions(s) * s.ci);
    const double tolerance =
        2e-6 * std::sqrt(length) + 3e-6 + rounding_error(s.epilogue.stored(DType::kF32));
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
          << "element " << i;
    }
  }
  int depthwise_ = 0, direct_ = 0;
};

TEST_P(ConvKinds, AnyGroups) {
  for (int i = 0; i < 40; ++i) check(random_spec(Groups::kAny), i % 2 == 0);
  EXPECT_GE(direct_, 35);
}

TEST_P(ConvKinds, Volumes) {
  for (int i = 0; i < 24; ++i) {
    ConvSpec s = random_spec(Groups::kAny);
    ConvDepth& d = s.depth;
    d.in = draw(2, 6), d.kernel = draw(1, 3), d.stride = draw(1, 2), d.dilation = draw(1, 2);
    d.pad = draw(0, 2);
    const int64_t deep = d.in.nominal + d.pad + draw(0, 2) - (d.kernel - 1) * d.dilation - 1;
    if (deep >= 0) d.out = deep / d.stride + 1, check(s, i % 2 == 0);
  }
  EXPECT_GE(direct_, 15);
}

TEST_P(ConvKinds, PointwiseVolumes) {
  ConvSpec s{.n = 2, .h = 3, .w = 5, .ci = 9, .oh = 3, .ow = 5, .co = 7};
  s.depth = {.in = 4, .out = 4};
  check(s, true);
}

TEST_P(ConvKinds, Halves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (int i = 0; i < 12; ++i) {
      ConvSpec s = random_spec(i % 2 == 0 ? Groups::kAny : Groups::kDepthwise);
      s.dtype = dtype;
      check(s, i % 3 != 0);
    }
    ConvSpec pointwise{
        .dtype = dtype, .n = 2, .h = 9, .w = 11, .ci = 6, .oh = 9, .ow = 11, .co = 9};
    check(pointwise, true);
  }
}

TEST_P(ConvKinds, OneGroup) {
  for (int i = 0; i < 20; ++i) check(random_spec(Groups::kOne), i % 2 == 0);
}

TEST_P(ConvKinds, Depthwise) {
  for (int i = 0; i < 40; ++i) check(random_spec(Groups::kDepthwise), i % 2 == 0);
  EXPECT_EQ(depthwise_, 40);
}

TEST_P(ConvKinds, DepthwiseMultiplied) {
  for (int i = 0; i < 20; ++i) check(random_spec(Groups::kMultiplied), i % 2 == 0);
}

TEST_P(ConvKinds, NetworkShapes) {
  check(square_conv(1, 56, 144, 144, 3, 2, 144), true);
  check(square_conv(1, 7, 70, 70, 3, 1, 70), true);
  check({.n = 1,
         .h = 96,
         .w = 100,
         .ci = 3,
         .oh = 48,
         .ow = 50,
         .co = 64,
         .kh = 7,
         .kw = 7,
         .stride_h = 2,
         .stride_w = 2,
         .pad_top = 3,
         .pad_left = 3},
        true);
  check({.n = 2, .h = 33, .w = 31, .ci = 12, .oh = 33, .ow = 31, .co = 9, .groups = 3},
        true);  // 1x1, read in place
  check({.n = 1,
         .h = 100,
         .w = 200,
         .ci = 2,
         .oh = 12,
         .ow = 40,
         .co = 3,
         .kh = 2,
         .kw = 3,
         .stride_h = 8,
         .stride_w = 5},
        false);
}

TEST_P(ConvKinds, RefusesNonsense) {
  EXPECT_FALSE(generate_direct_conv({{.ci = 6, .co = 6, .groups = 4}}, profile_).ok());
  EXPECT_FALSE(generate_depthwise({{.ci = 6, .co = 12, .groups = 6}}, profile_).ok());
}

TEST_P(ConvKinds, ChoosesByShape) {
  const StorageMap nhwc = nhwc_map(4), dense = dense_map(4);
  const ConvSpec depthwise = square_conv(1, 28, 192, 192, 3, 1, 192);
  EXPECT_EQ(choose_conv_kind(depthwise, profile_, {nhwc, nhwc}), ConvKind::kDepthwise);
  const ConvSpec wide = square_conv(1, 14, 256, 256, 3);
  EXPECT_EQ(choose_conv_kind(wide, profile_, {nhwc, nhwc}), ConvKind::kContraction);
  const ConvSpec one = square_conv(1, 64, 32, 1, 3);
  EXPECT_EQ(choose_conv_kind(one, profile_, {dense, dense}), ConvKind::kDirect);
}

INSTANTIATE_TEST_SUITE_P(Profiles, ConvKinds, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
