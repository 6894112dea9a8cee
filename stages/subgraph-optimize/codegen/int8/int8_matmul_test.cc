// Products of matrices of bytes known at run time, compared with plain sums: exactly, since all
// sums are integers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "stages/subgraph-optimize/codegen/int8/int8.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

// Sizes of one product: batch [outer, inner], of which one may be missing in either operand.
struct Sizes {
  int64_t outer = 1, inner = 1, m = 1, k = 1, n = 1;
};

// The symbols of a kernel, in the order of Sizes.
enum SizeSymbol : uint16_t { kOuter, kInner, kRows, kTerms, kColumns };

class Int8MatMul : public KernelTest {
 protected:
  Int8MatMul() : KernelTest(29) {}

  bool coin() { return draw(0, 1) == 0; }

  Sizes random_sizes(int64_t max) {
    return {draw(1, 3), draw(1, 3), draw(1, max), draw(1, max), draw(1, max)};
  }

  // Makes the specification for dense operands; x and w may be the same for all inner entries, w
  // may be transposed.
  static Int8MatMulSpec make_spec(const Extent& outer, const Extent& inner, const Extent& m,
                                  const Extent& k, const Extent& n, bool x_is_shared,
                                  bool w_is_shared, bool w_is_transposed) {
    Int8MatMulSpec spec;
    MatMulSpec& s = spec.product;
    s.m = m, s.k = k, s.n = n;
    s.a_row_stride = k, s.c_row_stride = n;
    s.b_row_stride = w_is_transposed ? Extent(1) : n;
    s.b_column_stride = w_is_transposed ? k : Extent(1);
    const Extent x = m * k, w = k * n, y = m * n;
    s.batch = {{outer, x_is_shared ? x : x * inner, w_is_shared ? w : w * inner, y * inner},
               {inner, x_is_shared ? Extent(0) : x, w_is_shared ? Extent(0) : w, y}};
    return spec;
  }

  void draw_numbers(Int8MatMulSpec& spec) {
    Int8Numbers& numbers = spec.numbers;
    numbers.x_signed = coin(), spec.w_signed = coin();
    numbers.x_zero_is_operand = coin();
    numbers.has_w_zero = coin();
    spec.w_zero_per_column = numbers.has_w_zero && coin();
    const int64_t low = numbers.x_signed ? -128 : 0;
    numbers.x_zero = static_cast<int32_t>(draw(low, low + 255));
  }

  // Gives the result a scale for each column and adds an element of a tensor of y's dims.
  static void add_epilogue(Int8MatMulSpec& spec) {
    EpilogueBuilder e(DType::kI32);
    const MatMulSpec& s = spec.product;
    const int sum = e.cast(e.accumulator(), DType::kF32);
    const int scaled = e.mul(sum, e.load(EpilogueOperand::column()));
    const auto full =
        EpilogueOperand::full(s.c_row_stride, {s.batch[0].c_stride, s.batch[1].c_stride});
    spec.product.epilogue = e.finish(e.add(scaled, e.load(full)));
  }

  // Extreme bytes are frequent, so that saturated intermediate results would show.
  Bytes draw_bytes(int64_t count) {
    const bool is_extreme = draw(0, 3) == 0;
    Bytes bytes;
    for (int64_t i = 0; i < count; ++i)
      bytes.push_back(static_cast<uint8_t>(is_extreme ? 127 + draw(0, 1) : draw(0, 255)));
    return bytes;
  }

  // Half of the draws are narrow: small enough for sums of two products in 16 bits.
  Bytes draw_weights(int64_t count, bool is_signed) {
    if (coin()) return draw_bytes(count);
    const bool is_extreme = draw(0, 3) == 0;
    Bytes bytes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = is_extreme ? (coin() ? -64 : 64) : draw(-64, 64);
      bytes.push_back(static_cast<uint8_t>(number + (is_signed ? 0 : 128)));
    }
    return bytes;
  }

  static int32_t number(uint8_t byte, bool is_signed) {
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }

  void check(const Int8MatMulSpec& spec, const Result<GeneratedKernel>& kernel, const Sizes& sizes,
             const std::vector<int64_t>& symbols) {
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok());
    if (!is_runnable_) return;
    const int64_t entries = sizes.outer * sizes.inner, rows = entries * sizes.m;
    Bytes x = draw_bytes(rows * sizes.k),
          w = draw_weights(entries * sizes.k * sizes.n, spec.w_signed),
          w_zero = draw_bytes(sizes.n),
          y(static_cast<size_t>(4 * rows * sizes.n) + kGuardElements, kUntouchedByte);
    auto x_zero = static_cast<uint8_t>(spec.numbers.x_zero);
    const std::vector<float> scales(static_cast<size_t>(sizes.n), 0.5f);
    const std::vector<float> offsets = random_floats(static_cast<size_t>(rows * sizes.n), random_);
    std::vector<void*> pointers = {y.data(), x.data(), w.data()};
    if (spec.numbers.has_w_zero) pointers.push_back(w_zero.data());
    if (spec.numbers.x_zero_is_operand) pointers.push_back(&x_zero);
    const bool is_float = !spec.product.epilogue.is_empty();
    if (is_float)
      pointers.insert(pointers.end(),
                      {const_cast<float*>(scales.data()), const_cast<float*>(offsets.data())});
    runnable->run(pointers, symbols, static_cast<uint32_t>(draw(0, 5)));
    for (size_t i = y.size() - kGuardElements; i < y.size(); ++i) ASSERT_EQ(y[i], kUntouchedByte);
    for (int64_t i = 0; i < rows * sizes.n; ++i) {
      const int32_t sum = reference_sum(spec, sizes, symbols, i, {x, w, w_zero});
      uint32_t got = 0;
      std::memcpy(&got, y.data() + 4 * i, 4);
      if (!is_float) {
        ASSERT_EQ(static_cast<int32_t>(got), sum) << "element " << i;
        continue;
      }
      float real = 0;
      std::memcpy(&real, &got, 4);
      const float wanted = static_cast<float>(sum) * 0.5f + offsets[static_cast<size_t>(i)];
      ASSERT_NEAR(real, wanted, 1e-6f * std::fabs(wanted)) << "element " << i;
    }
  }

  struct Operands {
    const Bytes &x, &w, &w_zero;
  };

  static int32_t reference_sum(const Int8MatMulSpec& spec, const Sizes& sizes,
                               const std::vector<int64_t>& symbols, int64_t element,
                               const Operands& operands) {
    const MatMulSpec& s = spec.product;
    const auto at = [&](const Extent& extent) { return value_of(extent, symbols); };
    const int64_t column = element % sizes.n, row = element / sizes.n % sizes.m;
    const int64_t entry = element / sizes.n / sizes.m;
    const int64_t outer = entry / sizes.inner, inner = entry % sizes.inner;
    const int64_t x = outer * at(s.batch[0].a_stride) + inner * at(s.batch[1].a_stride) +
                      row * at(s.a_row_stride);
    const int64_t w = outer * at(s.batch[0].b_stride) + inner * at(s.batch[1].b_stride) +
                      column * at(s.b_column_stride);
    const uint8_t zero = operands.w_zero[static_cast<size_t>(spec.w_zero_per_column ? column : 0)];
    const int32_t w_zero = spec.numbers.has_w_zero ? number(zero, spec.w_signed) : 0;
    int32_t sum = 0;
    for (int64_t k = 0; k < sizes.k; ++k) {
      const int32_t a = number(operands.x[static_cast<size_t>(x + k)], spec.numbers.x_signed);
      const int32_t b =
          number(operands.w[static_cast<size_t>(w + k * at(s.b_row_stride))], spec.w_signed);
      sum += (a - spec.numbers.x_zero) * (b - w_zero);
    }
    return sum;
  }

  void check_fixed(const Sizes& z) {
    if (is_left_out()) return;
    Int8MatMulSpec spec =
        make_spec(z.outer, z.inner, z.m, z.k, z.n, coin(), coin(), draw(0, 3) == 0);
    draw_numbers(spec);
    if (coin()) add_epilogue(spec);
    SCOPED_TRACE(canonical_text(spec));
    check(spec, generate_int8_matmul(spec, profile_), z, {});
  }
};

TEST_P(Int8MatMul, Fixed) {
  for (int i = 0; i < 30 && !HasFatalFailure(); ++i) check_fixed(random_sizes(i % 2 == 0 ? 9 : 70));
}

TEST_P(Int8MatMul, LongSums) {
  check_fixed({.m = 3, .k = 9001, .n = 20});
  check_fixed({.m = 3, .k = 32768, .n = 20});
}

// One kernel serves all sizes, also 0.
TEST_P(Int8MatMul, Symbolic) {
  for (int i = 0; i < 4 && !HasFatalFailure(); ++i) {
    const bool has_open_sums = i % 2 == 0;
    const int64_t k = draw(1, 70);
    Int8MatMulSpec spec = make_spec(Extent::of_symbol(kOuter, 2), Extent::of_symbol(kInner, 2),
                                    Extent::of_symbol(kRows, 40),
                                    has_open_sums ? Extent::of_symbol(kTerms, 50) : Extent(k),
                                    Extent::of_symbol(kColumns, 60), coin(), coin(), i == 3);
    draw_numbers(spec);
    if (!has_open_sums) add_epilogue(spec);
    SCOPED_TRACE(canonical_text(spec));
    const auto kernel = generate_int8_matmul(spec, profile_);
    for (int run = 0; run < 5 && !HasFatalFailure(); ++run) {
      Sizes z = random_sizes(run % 2 == 0 ? 9 : 70);
      if (!has_open_sums) z.k = k;
      if (run == 4) (has_open_sums ? z.k : z.m) = 0;
      check(spec, kernel, z, {z.outer, z.inner, z.m, z.k, z.n});
    }
  }
}

// A sum that is longer than scratch is summed in pieces.
TEST_P(Int8MatMul, SymbolicLongSums) {
  for (const bool w_is_transposed : {false, true}) {
    Int8MatMulSpec spec =
        make_spec(1, 1, Extent::of_symbol(kRows, 8), Extent::of_symbol(kTerms, 64),
                  Extent::of_symbol(kColumns, 8), false, false, w_is_transposed);
    draw_numbers(spec);
    SCOPED_TRACE(canonical_text(spec));
    const auto kernel = generate_int8_matmul(spec, profile_);
    const Sizes z = {.m = 5, .k = 60001, .n = 11};
    check(spec, kernel, z, {1, 1, z.m, z.k, z.n});
  }
}

TEST_P(Int8MatMul, RefusesNonsense) {
  const Int8MatMulSpec right = make_spec(1, 1, 4, 4, 4, false, false, false);
  EXPECT_TRUE(generate_int8_matmul(right, profile_).ok());
  Int8MatMulSpec spec = right;
  spec.product.a_k_stride = 2;
  EXPECT_FALSE(generate_int8_matmul(spec, profile_).ok());
  spec = right;
  spec.product.b_column_stride = 2;
  EXPECT_FALSE(generate_int8_matmul(spec, profile_).ok());
  spec = right;
  spec.numbers.x_zero = 300;
  EXPECT_FALSE(generate_int8_matmul(spec, profile_).ok());
  spec = right;
  spec.numbers.has_bias = true;
  EXPECT_FALSE(generate_int8_matmul(spec, profile_).ok());
  spec = right;
  spec.product.k = Extent::of_symbol(0, 4);
  add_epilogue(spec);
  EXPECT_FALSE(generate_int8_matmul(spec, profile_).ok());
}

INSTANTIATE_TEST_SUITE_P(Profiles, Int8MatMul, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
