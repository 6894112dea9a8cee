// Tests attention kernels against double precision.
#include "stages/subgraph-optimize/codegen/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

constexpr float kUntouched = 12345;
constexpr double kHidden = -std::numeric_limits<double>::infinity();

using Symbols = std::vector<int64_t>;

// The operands of one run, whose numbers are those of their dtypes.
struct Operands {
  std::vector<float> q, k, v, mask;
  std::vector<uint8_t> flags;
  std::vector<int64_t> lengths;
};

class Attention : public KernelTest {
 protected:
  Attention() : KernelTest(7) {}

  // Makes all operands dense [batch, heads, rows, size].
  static AttentionSpec dense(const Extent& batch, int64_t heads, int64_t kv_heads,
                             const Extent& queries, const Extent& keys, int64_t size) {
    AttentionSpec s;
    s.batch = batch, s.heads = heads, s.kv_heads = kv_heads;
    s.queries = queries, s.keys = keys;
    s.key_size = s.value_size = size;
    s.scale = 1 / std::sqrt(static_cast<float>(size));
    const auto operand = [&](int64_t own_heads, const Extent& rows) {
      return AttentionOperand{rows * (own_heads * size), rows * size, size};
    };
    s.q = s.y = operand(heads, queries);
    s.k = s.v = operand(kv_heads, keys);
    return s;
  }

  // Makes all operands [batch, rows, heads * size].
  static AttentionSpec flat(const Extent& batch, int64_t heads, int64_t kv_heads,
                            const Extent& queries, const Extent& keys, int64_t size) {
    AttentionSpec s = dense(batch, heads, kv_heads, queries, keys, size);
    const auto operand = [&](int64_t own_heads, const Extent& rows) {
      return AttentionOperand{rows * (own_heads * size), size, own_heads * size};
    };
    s.q = s.y = operand(heads, queries);
    s.k = s.v = operand(kv_heads, keys);
    return s;
  }

  // Gives it a mask [batch, heads, queries, keys].
  static AttentionSpec masked(AttentionSpec s, AttentionMaskKind kind) {
    s.mask = {kind, s.queries * s.keys * s.heads, s.queries * s.keys, s.keys, 1};
    return s;
  }

  // Gives all operands a dtype.
  static AttentionSpec in(DType dtype, AttentionSpec s) {
    s.q.dtype = s.k.dtype = s.v.dtype = s.y.dtype = s.mask.dtype = dtype;
    return s;
  }

  void check(const AttentionSpec& spec, const std::vector<Symbols>& runs = {{}}) {
    if (is_left_out()) return;
    SCOPED_TRACE(canonical_text(spec));
    auto kernel = generate_attention(spec, profile_);
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    EXPECT_LE(kernel->scratch_bytes, static_cast<uint64_t>(profile_.scratch_limit));
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok()) << error_text(runnable.error());
    if (!is_runnable_) return;
    for (const Symbols& symbols : runs) run(*runnable, kernel->blocks, spec, symbols);
  }

 private:
  static AttentionSpec fixed_at(AttentionSpec s, const Symbols& symbols) {
    for (Extent* extent : {&s.batch, &s.queries, &s.keys, &s.mask.batch_stride, &s.mask.head_stride,
                           &s.mask.row_stride})
      *extent = value_of(*extent, symbols);
    for (AttentionOperand* operand : {&s.q, &s.k, &s.v, &s.y}) {
      operand->batch_stride = value_of(operand->batch_stride, symbols);
      operand->head_stride = value_of(operand->head_stride, symbols);
    }
    return s;
  }

  static size_t span(const AttentionSpec& s, const AttentionOperand& operand, int64_t heads,
                     int64_t rows, int64_t size) {
    if (s.batch.factor * rows == 0) return 0;
    return static_cast<size_t>((s.batch.factor - 1) * operand.batch_stride.factor +
                               (heads - 1) * operand.head_stride.factor +
                               (rows - 1) * operand.row_stride + size);
  }

  Operands make_operands(const AttentionSpec& s) {
    Operands o;
    const auto numbers = [&](const AttentionOperand& operand, int64_t heads, const Extent& rows,
                             int64_t size) {
      return random_floats(span(s, operand, heads, rows.factor, size), random_, operand.dtype);
    };
    o.q = numbers(s.q, s.heads, s.queries, s.key_size);
    o.k = numbers(s.k, s.kv_heads, s.keys, s.key_size);
    o.v = numbers(s.v, s.kv_heads, s.keys, s.value_size);
    const AttentionMask& m = s.mask;
    const int64_t last =
        (s.batch.factor - 1) * m.batch_stride.factor + (s.heads - 1) * m.head_stride.factor +
        (s.queries.factor - 1) * m.row_stride.factor + (s.keys.factor - 1) * m.key_stride;
    o.mask = random_floats(static_cast<size_t>(std::max<int64_t>(0, last + 1)), random_, m.dtype);
    for (float& number : o.mask) {
      o.flags.push_back(static_cast<uint8_t>(number > -0.3f));
      if (number < -0.9f) number = -std::numeric_limits<float>::infinity();
    }
    // The first rows of a mask see no key.
    const auto hidden = std::min<int64_t>(last + 1, m.row_stride.factor > 0 ? s.keys.factor : 0);
    std::fill_n(o.mask.begin(), hidden, -std::numeric_limits<float>::infinity());
    std::fill_n(o.flags.begin(), hidden, uint8_t{0});
    for (int64_t b = 0; b < s.batch.factor; ++b) o.lengths.push_back(draw(0, s.keys.factor));
    return o;
  }

  static double score(const AttentionSpec& s, const Operands& o, int64_t b, int64_t h, int64_t i,
                      int64_t j) {
    const auto row = [&](const AttentionOperand& operand, int64_t head, int64_t at) {
      return b * operand.batch_stride.factor + head * operand.head_stride.factor +
             at * operand.row_stride;
    };
    double sum = 0;
    for (int64_t d = 0; d < s.key_size; ++d)
      sum += double{o.q[static_cast<size_t>(row(s.q, h, i) + d)]} *
             double{o.k[static_cast<size_t>(row(s.k, h / s.group(), j) + d)]};
    sum *= double{s.scale};
    if (s.softcap > 0) sum = double{s.softcap} * std::tanh(sum / double{s.softcap});
    const AttentionMask& m = s.mask;
    const auto at = static_cast<size_t>(b * m.batch_stride.factor + h * m.head_stride.factor +
                                        i * m.row_stride.factor + j * m.key_stride);
    if (m.kind == AttentionMaskKind::kFloat) sum += double{o.mask[at]};
    if (m.kind == AttentionMaskKind::kBool && o.flags[at] == 0) sum = kHidden;
    const int64_t length = o.lengths[static_cast<size_t>(b)];
    const int64_t own = i + (s.has_lengths ? length - s.queries.factor : 0);
    const bool is_hidden = (s.has_lengths && j >= length) || (s.is_causal && j > own);
    return is_hidden ? kHidden : sum;
  }

  static void expect_row(const AttentionSpec& s, const Operands& o, int64_t b, int64_t h, int64_t i,
                         std::vector<double>& y) {
    std::vector<double> line;
    for (int64_t j = 0; j < s.keys.factor; ++j) line.push_back(score(s, o, b, h, i, j));
    double top = kHidden, norm = 0;
    for (const double number : line) top = std::max(top, number);
    for (double& number : line) norm += number = top == kHidden ? 0 : std::exp(number - top);
    for (int64_t d = 0; d < s.value_size; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < s.keys.factor; ++j) {
        sum += line[static_cast<size_t>(j)] *
               double{o.v[static_cast<size_t>(b * s.v.batch_stride.factor +
                                              h / s.group() * s.v.head_stride.factor +
                                              j * s.v.row_stride + d)]};
      }
      y[static_cast<size_t>(b * s.y.batch_stride.factor + h * s.y.head_stride.factor +
                            i * s.y.row_stride + d)] = norm == 0 ? 0 : sum / norm;
    }
  }

  void run(RunnableKernel& kernel, uint32_t max_blocks, const AttentionSpec& symbolic,
           const Symbols& symbols) {
    SCOPED_TRACE(testing::PrintToString(symbols));
    const AttentionSpec s = fixed_at(symbolic, symbols);
    Operands o = make_operands(s);
    const size_t elements = span(s, s.y, s.heads, s.queries.factor, s.value_size);
    std::vector<double> expected(elements, kUntouched);
    for (int64_t b = 0; b < s.batch.factor; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries.factor; ++i) expect_row(s, o, b, h, i, expected);
    std::vector<std::vector<std::byte>> bytes = {
        elements_of(o.q, s.q.dtype), elements_of(o.k, s.k.dtype), elements_of(o.v, s.v.dtype),
        elements_of(o.mask, s.mask.dtype)};
    std::vector<void*> pointers = {nullptr, bytes[0].data(), bytes[1].data(), bytes[2].data()};
    if (s.mask.kind == AttentionMaskKind::kFloat) pointers.push_back(bytes[3].data());
    if (s.mask.kind == AttentionMaskKind::kBool) pointers.push_back(o.flags.data());
    if (s.has_lengths) pointers.push_back(o.lengths.data());
    std::vector<std::byte> first;
    for (const uint32_t blocks : {1u, 3u, max_blocks}) {
      std::vector<std::byte> y =
          elements_of(std::vector<float>(elements + 64, kUntouched), s.y.dtype);
      pointers[0] = y.data();
      kernel.run(pointers, symbols, blocks);
      if (first.empty()) compare(numbers_of(y, s.y.dtype), expected, s.y.dtype);
      if (first.empty()) first = y;
      ASSERT_EQ(y, first) << blocks << " blocks";
    }
  }

  // A kernel of halves rounds once, when it stores.
  static void compare(const std::vector<float>& y, const std::vector<double>& expected,
                      DType dtype) {
    for (size_t i = 0; i < y.size(); ++i) {
      const double wanted = i < expected.size() ? expected[i] : double{kUntouched};
      const double bound = 3e-6 + rounding_error(dtype) * std::fabs(wanted);
      ASSERT_NEAR(y[i], wanted, bound) << "element " << i;
    }
  }
};

TEST_P(Attention, one_tile) { check(dense(2, 3, 3, 16, 24, 32)); }
TEST_P(Attention, many_tiles) { check(dense(1, 2, 2, 200, 1100, 64)); }
TEST_P(Attention, sizes_that_nothing_divides) {
  for (int64_t size : {1, 3, 20, 33}) check(dense(1, 2, 1, draw(1, 90), draw(1, 700), size));
  AttentionSpec s = dense(2, 4, 2, 37, 131, 24);
  s.value_size = 40;
  s.v = {s.keys * 80, s.keys * 40, 40};
  s.y = {s.queries * 160, s.queries * 40, 40};
  check(s);
}
TEST_P(Attention, flat_heads) {
  check(flat(2, 4, 4, 70, 90, 64));
  check(flat(1, 4, 2, 9, 300, 24));
  check(flat(1, 2, 2, 1, 65, 16));
}
TEST_P(Attention, one_query) {
  check(dense(2, 4, 4, 1, 333, 64));
  check(dense(1, 8, 2, 1, 100, 128));
}
TEST_P(Attention, causal) {
  for (AttentionSpec s : {dense(1, 2, 2, 150, 150, 32), dense(2, 6, 2, 45, 45, 16),
                          flat(1, 4, 2, 33, 90, 8), dense(1, 1, 1, 90, 33, 8)}) {
    s.is_causal = true;
    check(s);
  }
}
TEST_P(Attention, lengths) {
  for (AttentionSpec s : {dense(3, 2, 2, 50, 150, 32), flat(4, 6, 2, 5, 45, 16)}) {
    s.has_lengths = true;
    check(s);
    s.is_causal = true;
    check(s);
  }
}
TEST_P(Attention, masks) {
  for (const AttentionMaskKind kind : {AttentionMaskKind::kFloat, AttentionMaskKind::kBool}) {
    check(masked(dense(2, 3, 3, 40, 150, 16), kind));
    check(masked(flat(2, 4, 2, 21, 75, 16), kind));
    AttentionSpec shared = masked(dense(2, 4, 2, 21, 75, 16), kind);
    shared.mask.row_stride = shared.mask.head_stride = 0;
    check(shared);
    AttentionSpec by_head = masked(dense(2, 4, 2, 21, 75, 16), kind);
    by_head.mask.row_stride = 0;
    check(by_head);
    AttentionSpec of_rows = masked(dense(2, 4, 4, 21, 75, 16), kind);
    of_rows.mask.key_stride = 0;
    check(of_rows);
    shared.mask.batch_stride = 0;
    shared.mask.key_stride = 0;
    check(shared);
  }
}
TEST_P(Attention, softcap) {
  AttentionSpec s = masked(dense(1, 2, 2, 20, 40, 16), AttentionMaskKind::kFloat);
  s.scale = 3;
  s.softcap = 2;
  check(s);
}
TEST_P(Attention, symbolic_sizes) {
  const Extent batch = Extent::of_symbol(0, 1), queries = Extent::of_symbol(2, 128),
               keys = Extent::of_symbol(5, 128);
  const std::vector<Symbols> runs = {
      {1, 0, 128, 0, 0, 128}, {2, 0, 1, 0, 0, 257}, {1, 0, 7, 0, 0, 5}, {3, 0, 90, 0, 0, 1},
      {0, 0, 5, 0, 0, 5},     {1, 0, 0, 0, 0, 5},   {1, 0, 5, 0, 0, 0}};
  for (AttentionSpec s :
       {dense(batch, 2, 2, queries, keys, 64), flat(batch, 4, 2, queries, keys, 24)}) {
    check(s, runs);
    check(masked(s, AttentionMaskKind::kBool), runs);
    s.is_causal = s.has_lengths = true;
    check(masked(s, AttentionMaskKind::kFloat), runs);
  }
}
// Keys and values that grow in place lie at the strides of their bound.
TEST_P(Attention, strides_of_a_capacity) {
  AttentionSpec s = dense(2, 4, 2, Extent::of_symbol(0, 1), Extent::of_symbol(1, 64), 32);
  s.k = s.v = {int64_t{2} * 500 * 32, int64_t{500} * 32, 32};
  check(s, {{1, 64}, {1, 499}, {12, 12}});
}

constexpr DType kHalves[] = {DType::kF16, DType::kBF16};

TEST_P(Attention, halves) {
  for (const DType dtype : kHalves) {
    check(in(dtype, dense(1, 2, 2, 200, 1100, 64)));
    check(in(dtype, flat(2, 4, 4, 70, 90, 64)));
    for (int64_t size : {1, 3, 20, 33})
      check(in(dtype, dense(1, 2, 1, draw(1, 90), draw(1, 700), size)));
    for (int64_t queries : {1, 2, 5, 9}) check(in(dtype, flat(1, 4, 2, queries, 300, 24)));
    AttentionSpec s = in(dtype, flat(3, 4, 2, 33, 90, 8));
    s.is_causal = s.has_lengths = true;
    check(s);
  }
}
TEST_P(Attention, masks_of_halves) {
  for (const DType dtype : kHalves) {
    for (const AttentionMaskKind kind : {AttentionMaskKind::kFloat, AttentionMaskKind::kBool}) {
      check(in(dtype, masked(dense(2, 3, 3, 40, 150, 16), kind)));
      AttentionSpec shared = in(dtype, masked(flat(2, 4, 2, 21, 75, 16), kind));
      shared.mask.row_stride = shared.mask.head_stride = 0;
      check(shared);
      AttentionSpec of_rows = in(dtype, masked(dense(2, 4, 4, 2, 75, 16), kind));
      check(of_rows);
      of_rows.mask.key_stride = 0;
      check(of_rows);
    }
  }
}
TEST_P(Attention, halves_of_symbolic_sizes) {
  const Extent batch = Extent::of_symbol(0, 1), queries = Extent::of_symbol(1, 128),
               keys = Extent::of_symbol(2, 128);
  for (const DType dtype : kHalves) {
    AttentionSpec s = in(dtype, flat(batch, 4, 2, queries, keys, 24));
    s.is_causal = s.has_lengths = true;
    check(masked(s, AttentionMaskKind::kFloat),
          {{1, 128, 128}, {2, 1, 257}, {1, 7, 5}, {3, 90, 1}, {1, 0, 5}, {1, 5, 0}});
  }
}
// ONNX gives values, and masks, a dtype of their own.
TEST_P(Attention, operands_of_several_dtypes) {
  for (const int64_t queries : {1, 60}) {
    AttentionSpec s = masked(dense(1, 2, 2, queries, 100, 32), AttentionMaskKind::kFloat);
    s.q.dtype = s.y.dtype = DType::kF16;
    s.k.dtype = DType::kBF16;
    check(s);
    s.k.dtype = DType::kF32;
    s.v.dtype = s.mask.dtype = DType::kBF16;
    check(s);
  }
}

// Code for machines that this one is not is generated as well.
TEST(AttentionKernel, EveryProfileHasCodeForHalves) {
  AttentionSpec s;
  s.queries = s.keys = Extent::of_symbol(0, 128);
  s.key_size = s.value_size = 40;
  s.q.row_stride = s.k.row_stride = s.v.row_stride = s.y.row_stride = 40;
  for (const std::string& name : cpu_profiles()) {
    for (const DType dtype : kHalves) {
      s.q.dtype = s.k.dtype = s.v.dtype = s.y.dtype = dtype;
      EXPECT_TRUE(generate_attention(s, *get_profile(name)).ok()) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Attention, testing::ValuesIn(cpu_profiles()),
                         [](const auto& own) { return own.param.substr(own.param.find('-') + 1); });

}  // namespace
}  // namespace sluice
