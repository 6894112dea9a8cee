#include "stages/subgraph-optimize/codegen/int8/int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

using Ints = std::vector<int32_t>;

// A problem in plain numbers: weights [co][kh][kw][ci / groups] are signed; w_zero and bias are per
// output channel.
struct Problem {
  Int8ConvSpec spec;
  Ints x, w, w_zero, bias;
  std::vector<float> scale;   // per output channel
  std::vector<float> offset;  // added for each output element
  int32_t y_zero = 0;

  DType stored() const { return spec.conv.epilogue.stored(DType::kI32); }

  int64_t channels() const { return spec.conv.ci / spec.conv.groups; }
  int64_t reduction() const { return spec.conv.kh * spec.conv.kw * channels(); }
  int64_t rows() const { return spec.conv.n.nominal * spec.conv.oh.nominal * spec.conv.ow.nominal; }

  int32_t sum(int64_t row, int64_t channel) const {
    const ConvSpec& s = spec.conv;
    const int64_t image = row / (s.oh.nominal * s.ow.nominal),
                  oh = row / s.ow.nominal % s.oh.nominal, ow = row % s.ow.nominal,
                  group = channel / (s.co / s.groups);
    int32_t total = bias[channel];
    for (int64_t k = 0; k < reduction(); ++k) {
      const int64_t c = k % channels(), kw = k / channels() % s.kw, kh = k / channels() / s.kw;
      const int64_t ih = oh * s.stride_h + kh * s.dilation_h - s.pad_top,
                    iw = ow * s.stride_w + kw * s.dilation_w - s.pad_left;
      if (ih < 0 || ih >= s.h.nominal || iw < 0 || iw >= s.w.nominal) continue;
      const int32_t pixel =
          x[((image * s.h.nominal + ih) * s.w.nominal + iw) * s.ci + group * channels() + c] -
          spec.numbers.x_zero;
      total += pixel * (w[channel * reduction() + k] - w_zero[channel]);
    }
    return total;
  }
};

class Int8 : public KernelTest {
 protected:
  Int8() : KernelTest(23) {}

  Ints draw_ints(int64_t count, int64_t low, int64_t high) {
    Ints values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(draw(low, high)));
    return values;
  }

  ConvSpec random_conv(bool depthwise, int64_t max_channels) {
    while (true) {
      ConvSpec s;
      s.n = draw(1, 3), s.h = draw(1, 20), s.w = draw(1, 20);
      s.kh = draw(1, 5), s.kw = draw(1, 5);
      s.stride_h = draw(1, 3), s.stride_w = draw(1, 3), s.dilation_h = draw(1, 3),
      s.dilation_w = draw(1, 3);
      s.pad_top = draw(0, 4), s.pad_left = draw(0, 4);
      s.groups = depthwise ? draw(1, 70) : draw(1, 3);
      s.ci = s.groups * (depthwise ? 1 : draw(1, max_channels));
      s.co = depthwise ? s.ci : s.groups * draw(1, 40);
      const int64_t high = s.h.nominal + s.pad_top + draw(0, 4) - (s.kh - 1) * s.dilation_h - 1;
      const int64_t wide = s.w.nominal + s.pad_left + draw(0, 4) - (s.kw - 1) * s.dilation_w - 1;
      if (high < 0 || wide < 0) continue;
      s.oh = high / s.stride_h + 1, s.ow = wide / s.stride_w + 1;
      return s;
    }
  }

  // Makes extreme bytes frequent, so that saturated intermediate results would show.
  Problem random_problem(const ConvSpec& conv) {
    Problem p;
    p.spec.conv = conv;
    Int8Numbers& numbers = p.spec.numbers;
    numbers.x_signed = draw(0, 1) == 0;
    numbers.x_zero_is_operand = draw(0, 3) == 0;
    numbers.has_w_zero = draw(0, 1) == 0;
    numbers.has_bias = draw(0, 1) == 0;
    const int64_t low = numbers.x_signed ? -128 : 0;
    numbers.x_zero = static_cast<int32_t>(draw(low, low + 255));
    const bool extreme = draw(0, 3) == 0;
    const int64_t limit = draw(0, 1) == 0 ? 64 : 128;  // narrow weights, or all
    p.w = draw_ints(conv.co * p.reduction(), -limit,
                    extreme ? -limit : std::min(limit, int64_t{127}));
    p.w_zero = draw_ints(conv.co, numbers.has_w_zero ? -128 : 0, numbers.has_w_zero ? 127 : 0);
    p.bias = draw_ints(conv.co, numbers.has_bias ? -100000 : 0, numbers.has_bias ? 100000 : 0);
    constexpr DType kStored[] = {DType::kI32, DType::kF32, DType::kI8, DType::kU8};
    if (const DType stored = kStored[draw(0, 3)]; stored != DType::kI32) add_scales(p, stored);
    set_data(p);
    return p;
  }

  void add_scales(Problem& p, DType stored) {
    const ConvSpec& conv = p.spec.conv;
    EpilogueBuilder e(DType::kI32);
    const int sum = e.cast(e.accumulator(), DType::kF32);
    const int scaled = e.mul(sum, e.load(EpilogueOperand::column()));
    int value = e.add(scaled, e.load(EpilogueOperand::full(conv.co)));
    if (stored != DType::kF32) {
      const int64_t low = stored == DType::kI8 ? -128 : 0;
      p.y_zero = static_cast<int32_t>(draw(low, low + 255));
      value =
          e.add(e.scalar(loop::ScalarOp::kRound, value), e.constant(static_cast<float>(p.y_zero)));
      value = e.clip(value, static_cast<float>(low), static_cast<float>(low + 255));
      value = e.cast(e.cast(value, DType::kI32), stored);
    }
    p.spec.conv.epilogue = e.finish(value);
    const double typical = std::sqrt(static_cast<double>(p.reduction())) * 100 * 100;
    for (const int32_t mantissa : draw_ints(conv.co, 50, 100))
      p.scale.push_back(static_cast<float>(mantissa / typical));
  }

  // Sets the data that depend on the number of images.
  void set_data(Problem& p) {
    const ConvSpec& s = p.spec.conv;
    const int64_t low = p.spec.numbers.x_signed ? -128 : 0;
    p.x = draw_ints((s.n * s.h * s.w).factor * s.ci, draw(0, 3) == 0 ? low + 255 : low, low + 255);
    p.offset.clear();
    if (p.stored() == DType::kI32) return;
    for (const int32_t number : draw_ints(p.rows() * s.co, -50, 50))
      p.offset.push_back(static_cast<float>(number));
  }

  static Bytes as_bytes(const Ints& values) {
    Bytes bytes;
    for (const int32_t value : values) bytes.push_back(static_cast<uint8_t>(value));
    return bytes;
  }

  // Packs weights as [groups][panels][steps][nr][unit].
  static Bytes packed(const Problem& p, const Int8Plan& plan) {
    const ConvSpec& s = p.spec.conv;
    const int64_t columns = s.co / s.groups, steps = (p.reduction() + plan.unit - 1) / plan.unit,
                  nr = plan.tiles.nr;
    Bytes bytes;
    for (int64_t group = 0; group < s.groups; ++group) {
      for (int64_t i = 0; i < plan.tiles.panels * steps * nr * plan.unit; ++i) {
        const int64_t u = i % plan.unit,
                      column = i / plan.unit % nr + i / (plan.unit * nr * steps) * nr;
        const int64_t k = i / (plan.unit * nr) % steps * plan.unit + u;
        const bool exists = column < columns && k < p.reduction();
        bytes.push_back(
            exists ? static_cast<uint8_t>(p.w[(group * columns + column) * p.reduction() + k])
                   : uint8_t{0});
      }
    }
    return bytes;
  }

  static Bytes packed_depthwise(const Problem& p, int64_t nr) {
    Bytes bytes;
    for (int64_t k = 0; k < p.reduction(); ++k) {
      for (int64_t c = 0; c < nr; ++c)
        bytes.push_back(c < p.spec.conv.co ? static_cast<uint8_t>(p.w[c * p.reduction() + k])
                                           : uint8_t{0});
    }
    return bytes;
  }

  void check(const Problem& p, const Result<GeneratedKernel>& kernel, Bytes weights,
             const std::vector<int64_t>& symbols = {}) {
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok());
    if (!is_runnable_) return;
    const ConvSpec& s = p.spec.conv;
    const Int8Numbers& numbers = p.spec.numbers;
    const size_t count = static_cast<size_t>(p.rows() * s.co),
                 bytes = dtype_bytes(p.stored(), count);
    Bytes y(bytes + kGuardElements, kUntouchedByte), x = as_bytes(p.x);
    Ints sums;
    for (int64_t c = 0; c < s.co; ++c) {
      int32_t total = 0;
      for (int64_t k = 0; k < p.reduction(); ++k) total += p.w[c * p.reduction() + k] - p.w_zero[c];
      sums.push_back(total);
    }
    auto x_zero = static_cast<uint8_t>(numbers.x_zero);
    std::vector<void*> pointers = {y.data(), x.data(), weights.data(), sums.data()};
    if (numbers.has_w_zero) pointers.push_back(const_cast<int32_t*>(p.w_zero.data()));
    if (numbers.has_bias) pointers.push_back(const_cast<int32_t*>(p.bias.data()));
    if (numbers.x_zero_is_operand) pointers.push_back(&x_zero);
    if (!p.scale.empty())
      pointers.insert(pointers.end(),
                      {const_cast<float*>(p.scale.data()), const_cast<float*>(p.offset.data())});
    if (symbols.empty()) {
      for (uint32_t block = runnable->blocks(); block-- > 0;) runnable->run_block(pointers, block);
    } else {
      runnable->run(pointers, symbols, static_cast<uint32_t>(draw(0, 5)));
    }
    for (size_t i = bytes; i < y.size(); ++i) ASSERT_EQ(y[i], kUntouchedByte);
    for (size_t i = 0; i < count; ++i) {
      const int64_t channel = static_cast<int64_t>(i) % s.co;
      const int32_t sum = p.sum(static_cast<int64_t>(i) / s.co, channel);
      if (p.stored() == DType::kI32) {
        int32_t got = 0;
        std::memcpy(&got, y.data() + 4 * i, 4);
        ASSERT_EQ(got, sum) << "element " << i;
        continue;
      }
      const float real = static_cast<float>(sum) * p.scale[channel] + p.offset[i];
      if (p.stored() == DType::kF32) {
        float got = 0;
        std::memcpy(&got, y.data() + 4 * i, 4);
        ASSERT_NEAR(got, real, 1e-5 * (1 + std::fabs(real))) << "element " << i;
        continue;
      }
      const bool is_signed = p.stored() == DType::kI8;
      const double wanted = std::clamp(std::nearbyint(static_cast<double>(real)) + p.y_zero,
                                       is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
      const int got = is_signed ? static_cast<int8_t>(y[i]) : y[i];
      const double fraction = std::fabs(real - std::nearbyint(real));
      ASSERT_NEAR(got, wanted, fraction > 0.499 ? 1 : 0) << "element " << i << ", " << real;
    }
  }

  void check_conv(const ConvSpec& conv) {
    if (is_left_out()) return;
    const Problem p = random_problem(conv);
    SCOPED_TRACE(canonical_text(p.spec));
    check(p, generate_int8_conv(p.spec, profile_), packed(p, choose_int8_plan(p.spec, profile_)));
  }
};

TEST_P(Int8, Convolutions) {
  for (int i = 0; i < 24 && !HasFatalFailure(); ++i)
    check_conv(random_conv(false, i % 2 == 0 ? 5 : 33));
}

TEST_P(Int8, MatrixProducts) {
  for (int i = 0; i < 24 && !HasFatalFailure(); ++i) {
    ConvSpec s;
    s.n = draw(1, 40), s.ci = i % 3 == 0 ? 4 * draw(1, 40) : draw(1, 300), s.co = draw(1, 100);
    check_conv(s);
  }
}

TEST_P(Int8, Pointwise) {
  for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
    ConvSpec s;
    s.n = draw(1, 2), s.h = s.oh = draw(1, 9), s.w = s.ow = draw(1, 9);
    s.groups = draw(1, 3), s.ci = s.groups * 4 * draw(1, 8), s.co = s.groups * draw(1, 40);
    check_conv(s);
  }
}

TEST_P(Int8, LongSums) {
  ConvSpec s;
  s.n = 3, s.ci = 9000, s.co = 20;
  check_conv(s);
  s.ci = 32768;
  check_conv(s);
}

TEST_P(Int8, Depthwise) {
  for (int i = 0; i < 24 && !HasFatalFailure(); ++i) {
    const Problem p = random_problem(random_conv(true, 1));
    const Int8DepthwiseSpec spec{p.spec.conv, p.spec.numbers};
    SCOPED_TRACE(canonical_text(spec));
    const Int8DepthwisePlan plan = choose_int8_depthwise_plan(spec.conv, profile_);
    ASSERT_TRUE(plan.possible);
    check(p, generate_int8_depthwise(spec, profile_), packed_depthwise(p, plan.nr));
  }
}

// One kernel serves every number and size of images.
TEST_P(Int8, SymbolicConvolutions) {
  for (int i = 0; i < 4 && !HasFatalFailure(); ++i) {
    Problem p = random_problem(random_conv(false, i % 2 == 0 ? 5 : 33));
    ConvSpec& s = p.spec.conv;
    Int8ConvSpec symbolic = p.spec;
    symbolic.conv.n = Extent::of_symbol(1, draw(1, 4));
    if (i > 1) {
      symbolic.conv.h = Extent::of_symbol(0, 30), symbolic.conv.w = Extent::of_symbol(2, 7);
      symbolic.conv.oh = Extent::of_symbol(3, 28), symbolic.conv.ow = Extent::of_symbol(4, 7);
    }
    SCOPED_TRACE(canonical_text(symbolic));
    const auto kernel = generate_int8_conv(symbolic, profile_);
    const Bytes weights = packed(p, choose_int8_plan(symbolic, profile_));
    for (const int64_t n : {s.n.factor, int64_t{1}, draw(3, 9)}) {
      s.n = n;
      set_data(p);
      check(p, kernel, weights, {s.h.factor, n, s.w.factor, s.oh.factor, s.ow.factor});
    }
  }
}

TEST_P(Int8, SymbolicMatrixProducts) {
  for (int i = 0; i < 4 && !HasFatalFailure(); ++i) {
    Problem p = random_problem(
        {.n = 1, .ci = i % 3 == 0 ? 4 * draw(1, 40) : draw(1, 300), .co = draw(1, 100)});
    Int8ConvSpec symbolic = p.spec;
    symbolic.conv.n = Extent(draw(1, 3), {0}, 12);
    SCOPED_TRACE(canonical_text(symbolic));
    const auto kernel = generate_int8_conv(symbolic, profile_);
    const Bytes weights = packed(p, choose_int8_plan(symbolic, profile_));
    for (const int64_t rows : {1, 2, 7, 40}) {
      p.spec.conv.n = symbolic.conv.n.factor * rows;
      set_data(p);
      check(p, kernel, weights, {rows});
    }
  }
}

TEST_P(Int8, SymbolicDepthwise) {
  for (int i = 0; i < 4 && !HasFatalFailure(); ++i) {
    Problem p = random_problem(random_conv(true, 1));
    Int8DepthwiseSpec symbolic{p.spec.conv, p.spec.numbers};
    symbolic.conv.n = Extent::of_symbol(0, 3);
    SCOPED_TRACE(canonical_text(symbolic));
    const auto kernel = generate_int8_depthwise(symbolic, profile_);
    const Bytes weights =
        packed_depthwise(p, choose_int8_depthwise_plan(symbolic.conv, profile_).nr);
    for (const int64_t n : {1, 4}) {
      p.spec.conv.n = n;
      set_data(p);
      check(p, kernel, weights, {n});
    }
  }
}

TEST_P(Int8, RefusesNonsense) {
  Int8ConvSpec spec;
  spec.numbers.x_zero = -1;
  EXPECT_FALSE(generate_int8_conv(spec, profile_).ok());
  spec.numbers = {};
  EpilogueBuilder of_floats;  // though the sums are integers
  spec.conv.epilogue = of_floats.finish(of_floats.accumulator());
  EXPECT_FALSE(generate_int8_conv(spec, profile_).ok());
  spec.conv.epilogue = {};
  spec.conv.ci = 3, spec.conv.groups = 2;
  EXPECT_FALSE(generate_int8_conv(spec, profile_).ok());
}

INSTANTIATE_TEST_SUITE_P(Profiles, Int8, testing::ValuesIn(cpu_profiles()), [](const auto& info) {
  return info.param.substr(info.param.find('-') + 1);
});

}  // namespace
}  // namespace sluice
