// Convolutions whose results are the phases of transposed ones, by both kinds of kernels.
#include "stages/subgraph-optimize/codegen/conv/conv_phases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

class Phases : public KernelTest {
 protected:
  Phases() : KernelTest(23) {}

  ConvSpec random_spec() {
    ConvSpec s;
    s.phases = {draw(1, 4), draw(2, 4), draw(0, 3), draw(0, 3)};
    s.n = draw(1, 2), s.h = draw(1, 20), s.w = draw(1, 20);
    s.kh = draw(1, 3), s.kw = draw(1, 3), s.pad_top = draw(0, 2), s.pad_left = draw(0, 2);
    s.groups = draw(1, 3);
    s.ci = s.groups * draw(1, 20), s.co = s.groups * s.phases.count() * draw(1, 20);
    s.oh = std::max<int64_t>(1, s.h.factor + draw(-2, 2));
    s.ow = std::max<int64_t>(1, s.w.factor + draw(-2, 2));
    return s;
  }

  // Returns relu(sums + bias), channels last.
  static std::vector<double> expected_of(const ConvSpec& s, const std::vector<float>& x,
                                         const std::vector<float>& weights,
                                         const std::vector<float>& bias) {
    const ConvPhases& p = s.phases;
    ConvSpec whole = s;  // all positions of all phases
    whole.phases = {};
    whole.oh = s.oh.factor + phase_shift(0, p.h, p.cut_top);
    whole.ow = s.ow.factor + phase_shift(0, p.w, p.cut_left);
    const std::vector<double> sums = reference_conv(whole, x.data(), weights.data(), {});
    const int64_t channels = result_channels(s), of_group = channels / s.groups;
    std::vector<double> y(static_cast<size_t>(s.n.factor * output_pixels(s).factor * s.co));
    for (size_t at = 0; at < y.size(); ++at) {
      const auto i = static_cast<int64_t>(at);
      const int64_t c = i % channels, column = i / channels % (s.ow.factor * p.w),
                    row = i / channels / (s.ow.factor * p.w);
      const int64_t n = row / (s.oh.factor * p.h), high = row % (s.oh.factor * p.h);
      // Element stride * position + phase - cut.
      const int64_t ph = (high + p.cut_top) % p.h, pw = (column + p.cut_left) % p.w;
      const int64_t oh = (high + p.cut_top) / p.h, ow = (column + p.cut_left) / p.w;
      const int64_t channel = (c / of_group * p.count() + ph * p.w + pw) * of_group + c % of_group;
      const int64_t pixel = (n * whole.oh.factor + oh) * whole.ow.factor + ow;
      const double sum = sums[static_cast<size_t>(pixel * s.co + channel)];
      y[at] = std::max(0.0, sum + bias[static_cast<size_t>(c)]);
    }
    return y;
  }

  static void add_epilogue(ConvSpec& s, const EpilogueOperand& bias) {
    EpilogueBuilder e;
    s.epilogue = e.finish(e.relu(e.add(e.accumulator(), e.load(bias, s.dtype))), s.dtype);
  }

  void run_and_compare(const Result<GeneratedKernel>& made, bool is_dense, const ConvSpec& s,
                       std::vector<std::vector<float>> inputs,
                       const std::vector<double>& expected) {
    ASSERT_TRUE(made.ok()) << error_text(made.error());
    auto kernel = RunnableKernel::load(*made);
    ASSERT_TRUE(kernel.ok());
    if (!is_runnable_) return;
    const auto channels = static_cast<size_t>(result_channels(s));
    const size_t stride = s.y_pixel_stride != 0 ? static_cast<size_t>(s.y_pixel_stride) : channels;
    std::vector<float> y(expected.size() / channels * stride, NAN);
    std::vector<void*> pointers = {y.data()};
    for (std::vector<float>& input : inputs) pointers.push_back(input.data());
    for (uint32_t block = kernel->blocks(); block-- > 0;) kernel->run_block(pointers, block);
    if (is_dense)
      y = transposed(y, s.n.factor, result_channels(s), output_pixels(s).factor * s.phases.count());
    for (size_t at = 0; at < y.size(); ++at) {
      const size_t channel = at % stride, i = at / stride * channels + channel;
      if (channel >= channels) {
        ASSERT_TRUE(std::isnan(y[at])) << "the gap at " << at << " was written";
        continue;
      }
      ASSERT_NEAR(y[at], expected[i], 5e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
    }
  }

  void check(ConvSpec s) {
    SCOPED_TRACE(canonical_text(s));
    const int64_t pixels = input_pixels(s).factor;
    const auto x = random_floats(static_cast<size_t>(s.n.factor * pixels * s.ci), random_);
    const auto weights =
        random_floats(static_cast<size_t>(s.co * (s.ci / s.groups) * kernel_positions(s)), random_);
    const auto bias = random_floats(static_cast<size_t>(result_channels(s)), random_);
    const std::vector<double> expected = expected_of(s, x, weights, bias);
    ConvSpec packed = s;  // the phases of a group are packed like groups
    packed.groups *= s.phases.count(), packed.ci *= s.phases.count();

    add_epilogue(s, EpilogueOperand::column());
    ConvSpec apart = s;  // rows of wider pixels, whose other channels stay as they are
    apart.y_pixel_stride = result_channels(s) + 5;
    for (const ConvSpec& spec : {s, apart}) {
      const int64_t nr = choose_conv_plan(spec, profile_).nr;
      run_and_compare(generate_conv(spec, profile_), false, spec,
                      {x, reference_pack(conv_weight_packing(packed, nr), weights.data()), bias},
                      expected);
    }
    EXPECT_FALSE(choose_direct_plan(apart, profile_).possible);
    add_epilogue(s, EpilogueOperand::row());
    const DirectConvPlan plan = choose_direct_plan(s, profile_);
    if (!plan.possible) return;
    run_and_compare(
        generate_direct_conv({s}, profile_), true, s,
        {transposed(x, s.n.factor, pixels, s.ci),
         reference_pack(direct_weight_packing(packed, plan.rows), weights.data()), bias},
        expected);
    ++direct_;
  }
  int direct_ = 0;
};

TEST_P(Phases, AnySizes) {
  for (int i = 0; i < 30; ++i) check(random_spec());
  EXPECT_GE(direct_, 25);
}

// Chunks, of which the last one is shorter, and parts of the channels.
TEST_P(Phases, ManyPixelsOrChannels) {
  check({.h = 57, .w = 56, .ci = 128, .oh = 57, .ow = 56, .co = 4 * 20, .phases = {2, 2}});
  check({.h = 4,
         .w = 4,
         .ci = 64,
         .oh = 4,
         .ow = 4,
         .co = 4 * 130,
         .kh = 2,
         .kw = 2,
         .pad_top = 1,
         .pad_left = 1,
         .phases = {2, 2, 1, 1}});
}

INSTANTIATE_TEST_SUITE_P(Profiles, Phases, testing::ValuesIn(cpu_profiles()), [](const auto& info) {
  return info.param.substr(info.param.find('-') + 1);
});

}  // namespace
}  // namespace sluice
