#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/conv_specs.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

class ConvKernel : public KernelTest {
 protected:
  ConvKernel() : KernelTest(11) {}

  void check(const ConvSpec& s) {
    if (is_left_out()) return;
    SCOPED_TRACE(canonical_text(s));
    const int64_t pixel = s.x_pixel_stride ? s.x_pixel_stride : s.ci;
    const auto x =
        random_floats(static_cast<size_t>(((s.n * input_pixels(s)).nominal - 1) * pixel + s.ci),
                      random_, s.dtype);
    const auto weights = random_floats(
        static_cast<size_t>(s.co * (s.ci / s.groups) * kernel_positions(s)), random_, s.dtype);
    std::vector<std::vector<float>> operands;
    std::vector<const float*> operand_pointers;
    const int64_t image = output_pixels(s).nominal;
    for (const EpilogueOperand& o : s.epilogue.operands) {
      int64_t last = (s.co - 1) * o.column_stride.nominal;
      last += o.batch_strides.empty() ? (s.n.nominal * image - 1) * o.row_stride.nominal
                                      : (s.n.nominal - 1) * o.batch_strides[0].nominal +
                                            (image - 1) * o.row_stride.nominal;
      operands.push_back(random_floats(static_cast<size_t>(last + 1), random_,
                                       s.epilogue.operand_dtype(operands.size())));
    }
    for (const auto& operand : operands) operand_pointers.push_back(operand.data());
    const auto expected = reference_conv(s, x.data(), weights.data(), operand_pointers);
    const int64_t nr = choose_conv_plan(s, profile_).nr;
    auto packed = reference_pack(conv_weight_packing(s, nr), weights.data());
    if (has_pairs(s)) packed = in_pairs(packed, kernel_positions(s) * (s.ci / s.groups), nr);

    auto kernel = generate_conv(s, profile_);
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok()) << error_text(runnable.error());
    if (!is_runnable_) return;
    const DType stored = s.epilogue.stored(DType::kF32);
    std::vector<std::vector<std::byte>> bytes = {
        elements_of(std::vector<float>(expected.size(), kUntouchedFloat), stored),
        elements_of(x, s.dtype), elements_of(packed, s.dtype)};
    for (size_t i = 0; i < operands.size(); ++i)
      bytes.push_back(elements_of(operands[i], s.epilogue.operand_dtype(i)));
    std::vector<void*> pointers;
    for (std::vector<std::byte>& operand : bytes) pointers.push_back(operand.data());
    // Blocks run backwards, since they do not depend on each other.
    for (uint32_t block = runnable->blocks(); block-- > 0;) runnable->run_block(pointers, block);
    const std::vector<float> y = numbers_of(bytes[0], stored);
    const int64_t y_pixel = s.y_pixel_stride ? s.y_pixel_stride : s.co;
    const double tolerance = 2e-6 * std::sqrt(static_cast<double>(kernel_positions(s) * s.ci)) +
                             3e-6 + rounding_error(stored);
    for (size_t i = 0; i < y.size(); ++i) {
      if (static_cast<int64_t>(i) % y_pixel >= s.co) {
        ASSERT_EQ(y[i], kUntouchedFloat) << "element " << i;
      } else {
        ASSERT_NEAR(y[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
            << "element " << i;
      }
    }
  }

  // Sets the output size; bottom and right are the padding on the far sides.
  static ConvSpec sized(ConvSpec s, int64_t bottom, int64_t right) {
    s.oh = (s.h.nominal + s.pad_top + bottom - (s.kh - 1) * s.dilation_h - 1) / s.stride_h + 1;
    s.ow = (s.w.nominal + s.pad_left + right - (s.kw - 1) * s.dilation_w - 1) / s.stride_w + 1;
    return s;
  }

  ConvSpec random_spec(int64_t channels) {
    while (true) {
      ConvSpec s;
      s.groups = draw(0, 2) == 0 ? draw(2, 4) : 1;
      s.n = draw(1, 2);
      s.h = draw(1, 14), s.w = draw(1, 14);
      s.ci = s.groups * draw(1, channels / s.groups),
      s.co = s.groups * draw(1, channels / s.groups);
      s.kh = draw(1, 5), s.kw = draw(1, 5);
      s.stride_h = draw(1, 3), s.stride_w = draw(1, 3);
      s.dilation_h = draw(1, 3), s.dilation_w = draw(1, 3);
      s.pad_top = draw(0, 3), s.pad_left = draw(0, 3);
      const int64_t bottom = draw(0, 3), right = draw(0, 3);
      if (s.h.nominal + s.pad_top + bottom <= (s.kh - 1) * s.dilation_h ||
          s.w.nominal + s.pad_left + right <= (s.kw - 1) * s.dilation_w)
        continue;
      return sized(s, bottom, right);
    }
  }
};

TEST_P(ConvKernel, RandomFewChannels) {
  for (int i = 0; i < 30; ++i) check(random_spec(12));
}

TEST_P(ConvKernel, RandomManyChannels) {
  for (int i = 0; i < 30; ++i) check(random_spec(70));
}

// Draws a depth for a 2-d convolution.
ConvDepth random_depth(const std::function<int64_t(int64_t, int64_t)>& draw) {
  while (true) {
    ConvDepth d{.in = draw(1, 7)};
    d.kernel = draw(1, 4), d.stride = draw(1, 3), d.dilation = draw(1, 3), d.pad = draw(0, 3);
    const int64_t free = d.in.nominal + d.pad + draw(0, 3) - (d.kernel - 1) * d.dilation - 1;
    if (free < 0) continue;
    d.out = free / d.stride + 1;
    return d;
  }
}

TEST_P(ConvKernel, RandomThreeAxes) {
  for (int i = 0; i < 40; ++i) {
    ConvSpec s = random_spec(i % 2 == 0 ? 12 : 40);
    s.depth = random_depth([&](int64_t low, int64_t high) { return draw(low, high); });
    check(s);
  }
}

TEST_P(ConvKernel, ThreeAxesWithAnEpilogue) {
  ConvSpec s{.n = 2, .h = 5, .w = 4, .ci = 20, .co = 36, .kh = 3, .kw = 3};
  s.depth = {.in = 6, .out = 3, .kernel = 2, .stride = 2};
  s = sized(s, 0, 0);
  EpilogueBuilder e;  // a bias, a factor per image and channel, and a residual
  int value = e.add(e.accumulator(), e.load(EpilogueOperand::column()));
  value = e.mul(value, e.load({{36}, 0, 1}));
  value = e.add(value, e.load(EpilogueOperand::full(36)));
  s.epilogue = e.finish(e.relu(value));
  check(s);
}

// Of 1x1 kernels over every pixel, with many channels and few, whose number is even or odd.
TEST_P(ConvKernel, Halves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (int i = 0; i < 14; ++i) {
      ConvSpec s = random_spec(i % 2 == 0 ? 12 : 70);
      if (i % 4 == 3) {
        s.kh = s.kw = s.stride_h = s.stride_w = 1, s.pad_top = s.pad_left = 0;
        s = sized(s, 0, 0);
      }
      if (i % 5 == 4)
        s.depth = random_depth([&](int64_t low, int64_t high) { return draw(low, high); });
      s.dtype = dtype;
      if (i % 3 != 0) {
        EpilogueBuilder e;
        const int biased = e.add(e.accumulator(), e.load(EpilogueOperand::column(), dtype));
        const int sum = e.add(biased, e.load(EpilogueOperand::full(s.co), dtype));
        s.epilogue = e.finish(e.relu(sum), dtype);
      }
      check(s);
    }
    ConvSpec wide{.dtype = dtype,
                  .n = 1,
                  .h = 5,
                  .w = 6,
                  .ci = 600,
                  .co = 20,
                  .kh = 3,
                  .kw = 3,
                  .pad_top = 1,
                  .pad_left = 1};
    check(sized(wide, 1, 1));
  }
}

TEST_P(ConvKernel, NetworkShapes) {
  check(square_conv(1, 30, 3, 64, 7, 2));
  check(square_conv(2, 7, 64, 96, 3));
  check(square_conv(1, 14, 32, 80, 1, 2));
  check(square_conv(3, 5, 40, 24, 1));
  ConvSpec cropped{.n = 2, .h = 5, .w = 6, .ci = 20, .co = 24};  // 1x1 over part of the pixels
  cropped.oh = 4, cropped.ow = 5;
  check(cropped);
  check(square_conv(1, 9, 6, 6, 3, 1, 6));
}

TEST_P(ConvKernel, PixelStridesAndEpilogues) {
  ConvSpec s = square_conv(2, 6, 20, 36, 3, 1, 2);
  s.x_pixel_stride = 23;
  s.y_pixel_stride = 50;
  EpilogueBuilder e;
  int value = e.add(e.accumulator(), e.load(EpilogueOperand::column()));
  value = e.add(value, e.load(EpilogueOperand::full(40)));
  s.epilogue = e.finish(e.leaky_relu(value, 0.1f));
  check(s);
  EpilogueBuilder gate;  // a factor per image and channel, and one per image
  value = gate.mul(gate.accumulator(), gate.load({{36}, 0, 1}));
  value = gate.mul(value, gate.scalar(loop::ScalarOp::kSigmoid, value));
  s.epilogue = gate.finish(gate.add(value, gate.load({{1}, 0, 0})));
  check(s);
  s.ci = 8;
  s.x_pixel_stride = 0;
  check(s);
}

TEST_P(ConvKernel, RefusesNonsense) {
  ConvSpec s{.ci = 6, .co = 6, .groups = 4};
  auto kernel = generate_conv(s, profile_);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kCodegen);
  s = ConvSpec{.ci = 6, .co = 6, .stride_w = 0};
  EXPECT_FALSE(generate_conv(s, profile_).ok());
}

INSTANTIATE_TEST_SUITE_P(Profiles, ConvKernel, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
