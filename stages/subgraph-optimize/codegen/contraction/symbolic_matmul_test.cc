// Tests one kernel of symbolic sizes at many sizes and numbers of blocks, against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

using Symbols = std::vector<int64_t>;

class SymbolicMatMul : public KernelTest {
 protected:
  SymbolicMatMul() : KernelTest(23) {}

  // Returns the floats from the first to the last element; 0 when there is none.
  static size_t span(std::vector<std::pair<Extent, Extent>> sizes_and_strides) {
    int64_t last = 0;
    for (const auto& [size, stride] : sizes_and_strides) {
      if (size.nominal == 0) return 0;
      last += (size.nominal - 1) * stride.nominal;
    }
    return static_cast<size_t>(last + 1);
  }

  static size_t span(const MatMulSpec& s, Extent BatchAxis::* stride,
                     std::vector<std::pair<Extent, Extent>> sizes_and_strides) {
    for (const BatchAxis& axis : s.batch) sizes_and_strides.emplace_back(axis.size, axis.*stride);
    return span(sizes_and_strides);
  }

  void check(const MatMulSpec& symbolic, const std::vector<Symbols>& runs, bool packed = false) {
    if (is_left_out()) return;
    MatMulSpec spec = symbolic;
    spec.b_packed = packed;
    SCOPED_TRACE(canonical_text(spec));
    auto kernel = generate_matmul(spec, profile_);
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    EXPECT_LE(kernel->scratch_bytes, static_cast<uint64_t>(profile_.scratch_limit));
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok()) << error_text(runnable.error());
    if (!is_runnable_) return;
    for (const Symbols& symbols : runs) run(*runnable, symbolic, symbols, packed);
  }

  void run(RunnableKernel& kernel, const MatMulSpec& symbolic, const Symbols& symbols,
           bool packed) {
    SCOPED_TRACE(testing::PrintToString(symbols));
    const MatMulSpec s = fixed_at(symbolic, symbols);
    const auto a =
        random_floats(span(s, &BatchAxis::a_stride, {{s.m, s.a_row_stride}, {s.k, s.a_k_stride}}),
                      random_, s.dtype);
    std::vector<std::pair<Extent, Extent>> b_axes = {{s.k, s.b_row_stride},
                                                     {s.n, s.b_column_stride}};
    auto b = random_floats(packed ? span(b_axes) : span(s, &BatchAxis::b_stride, b_axes), random_,
                           s.dtype);
    const size_t elements = span(s, &BatchAxis::c_stride, {{s.m, s.c_row_stride}, {s.n, 1}});
    std::vector<std::vector<float>> operands;
    std::vector<const float*> operand_pointers;
    for (const EpilogueOperand& o : s.epilogue.operands) {
      std::vector<std::pair<Extent, Extent>> axes = {{s.m, o.row_stride}, {s.n, o.column_stride}};
      for (size_t i = 0; i < o.batch_strides.size(); ++i)
        axes.emplace_back(s.batch[i].size, o.batch_strides[i]);
      operands.push_back(
          random_floats(span(axes), random_, s.epilogue.operand_dtype(operands.size())));
    }
    for (const auto& operand : operands) operand_pointers.push_back(operand.data());
    const auto expected = reference_matmul(s, a.data(), b.data(), operand_pointers, elements);
    MatMulSpec of_plan = symbolic;
    of_plan.b_packed = packed;
    const int64_t nr = choose_matmul_plan(of_plan, profile_).nr;
    if (packed)
      b = reference_pack(
          {{}, {{s.k.factor, s.b_row_stride.factor}}, {s.n.factor, s.b_column_stride.factor}, nr},
          b.data());
    if (packed && s.dtype == DType::kBF16) b = in_pairs(b, s.k.factor, nr);
    const DType stored = s.epilogue.stored(DType::kF32);
    std::vector<std::vector<std::byte>> bytes = {elements_of(a, s.dtype), elements_of(b, s.dtype)};
    for (size_t i = 0; i < operands.size(); ++i)
      bytes.push_back(elements_of(operands[i], s.epilogue.operand_dtype(i)));
    std::vector<float> first;
    for (const uint32_t blocks : {1u, 2u, 3u, 7u, 16u, 32u, 0u}) {
      std::vector<std::byte> results =
          elements_of(std::vector<float>(elements + 2 * kGuardElements, kUntouchedFloat), stored);
      std::vector<void*> pointers = {results.data() +
                                     kGuardElements * (stored == DType::kF32 ? 4 : 2)};
      for (std::vector<std::byte>& operand : bytes) pointers.push_back(operand.data());
      kernel.run(pointers, symbols, blocks);
      const std::vector<float> c = numbers_of(results, stored);
      if (first.empty()) compare(s, c, expected);
      if (first.empty()) first = c;
      ASSERT_EQ(c, first) << blocks << " blocks";
    }
  }

  static void compare(const MatMulSpec& s, const std::vector<float>& c,
                      const std::vector<double>& expected) {
    // Partial sums of k products come near sqrt(k). Each of k additions rounds by up to 6e-8 of
    // that, up or down by chance, so that the sum is off by about 6e-8 k.
    const auto k = static_cast<double>(s.k.nominal);
    const double tolerance =
        1e-6 * std::sqrt(k) + 6e-8 * k + 4e-6 + rounding_error(s.epilogue.stored(DType::kF32));
    size_t written = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      if (i < kGuardElements || i >= kGuardElements + expected.size()) {
        ASSERT_EQ(c[i], kUntouchedFloat) << "outside, " << i;
        continue;
      }
      if (c[i] == kUntouchedFloat) continue;
      ++written;
      const double wanted = expected[i - kGuardElements];
      ASSERT_NEAR(c[i], wanted, tolerance * std::max(1.0, std::fabs(wanted)))
          << "element " << i - kGuardElements;
    }
    int64_t results = s.m.nominal * s.n.nominal;
    for (const BatchAxis& axis : s.batch) results *= axis.size.nominal;
    EXPECT_EQ(static_cast<int64_t>(written), results);
  }

  static Epilogue gelu() {
    EpilogueBuilder e;
    const int value = e.add(e.accumulator(), e.load(EpilogueOperand::column()));
    const int erf = e.scalar(loop::ScalarOp::kErf, e.mul(value, e.constant(0.70710678f)));
    return e.finish(e.mul(e.mul(value, e.constant(0.5f)), e.add(erf, e.constant(1))));
  }

  static MatMulSpec dense(const Extent& m, const Extent& k, const Extent& n) {
    MatMulSpec s;
    s.m = m, s.n = n, s.k = k;
    s.a_row_stride = k;
    s.b_row_stride = n;
    s.c_row_stride = n;
    return s;
  }

  static std::vector<Symbols> each(std::initializer_list<int64_t> sizes) {
    std::vector<Symbols> runs;
    for (const int64_t size : sizes) runs.push_back({size});
    return runs;
  }

  // Returns every pair of sizes.
  static std::vector<Symbols> pairs(std::initializer_list<int64_t> first,
                                    std::initializer_list<int64_t> second) {
    std::vector<Symbols> runs;
    for (const int64_t a : first) {
      for (const int64_t b : second) runs.push_back({a, b});
    }
    return runs;
  }
};

const Extent kM = Extent::of_symbol(0, 48), kN = Extent::of_symbol(1, 48),
             kBatch = Extent::of_symbol(2, 2), kK = Extent::of_symbol(3, 48);

TEST_P(SymbolicMatMul, RowsOfWeights) {
  for (const int64_t n : {5, 64, 100, 333}) {
    MatMulSpec s = dense(kM, 37, n);
    s.epilogue = gelu();
    check(s, each({0, 1, 2, 3, 7, 12, 13, 48, 97, 144, 1000}), true);
    check(s, each({0, 1, 2, 7, 13, 48, 144}));
  }
}

TEST_P(SymbolicMatMul, WeightsLargerThanTheCache) {
  check(dense(kM, 1500, 900), each({1, 2, 31}), true);
}

TEST_P(SymbolicMatMul, Columns) {
  for (const int64_t m : {1, 9, 50}) {
    MatMulSpec s = dense(m, 21, kN);
    EpilogueBuilder e;
    s.epilogue = e.finish(e.relu(e.add(e.accumulator(), e.load(EpilogueOperand::full(kN)))));
    check(s, pairs({0}, {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 47, 48, 49, 63, 97, 144, 500}));
    check(s, pairs({0}, {0, 1, 2, 3, 13, 48, 61, 144}), true);
    s.epilogue = gelu();
    check(s, pairs({0}, {1, 3, 20, 48, 61}));
  }
}

TEST_P(SymbolicMatMul, Reduction) {
  for (const int64_t m : {1, 6, 40}) {
    const auto runs = [] {
      std::vector<Symbols> all;
      for (const int64_t k : {0, 1, 2, 3, 7, 8, 31, 48, 100, 144, 1025})
        all.push_back({0, 0, 0, k});
      return all;
    }();
    MatMulSpec s = dense(m, kK, 70);
    EpilogueBuilder e;
    s.epilogue = e.finish(e.add(e.accumulator(), e.load(EpilogueOperand::column())));
    check(s, runs);
    check(s, runs, true);
    s.b_row_stride = 1, s.b_column_stride = kK;
    check(s, runs);
  }
}

// One kernel takes dot products for few rows and packs columns for many.
TEST_P(SymbolicMatMul, RowsWithTransposedColumns) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    MatMulSpec s = dense(kM, kK, kN);
    s.dtype = dtype;
    s.b_row_stride = 1, s.b_column_stride = kK;
    s.batch = {{kBatch, kM * kK, kK * kN, kM * kN}};
    EpilogueBuilder e;
    const int bias = e.load(EpilogueOperand::column(), dtype);
    s.epilogue = e.finish(e.relu(e.add(e.accumulator(), bias)), dtype);
    std::vector<Symbols> runs;
    for (const auto& [m, n] : {std::pair{1, 1}, {1, 7}, {1, 200}, {2, 61}, {3, 48}, {100, 40}}) {
      for (const int64_t k : {0, 1, 3, 31, 64, 101}) runs.push_back({m, n, 2, k});
    }
    check(s, runs);
    s.m = 1, s.a_row_stride = kK, s.batch.clear();
    check(s, runs);
  }
}

TEST_P(SymbolicMatMul, Halves) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const bool is_turned : {false, true}) {
      MatMulSpec s = dense(kM, kK, kN);
      s.dtype = dtype;
      s.batch = {{kBatch, kM * kK, kK * kN, kM * kN}};
      if (is_turned) s.a_row_stride = 1, s.a_k_stride = kM;
      if (is_turned) s.b_row_stride = 1, s.b_column_stride = kK;
      EpilogueBuilder e;
      const int bias = e.load(EpilogueOperand::column(), dtype);
      s.epilogue = e.finish(e.relu(e.add(e.accumulator(), bias)), dtype);
      std::vector<Symbols> runs;
      for (const auto& [m, n] : {std::pair{1, 7}, {13, 48}, {40, 61}, {0, 3}}) {
        for (const int64_t k : {0, 1, 2, 31, 64, 101}) runs.push_back({m, n, 3, k});
      }
      check(s, runs);
    }
    MatMulSpec rows = dense(kM, 37, 100);
    rows.dtype = dtype;
    check(rows, each({1, 2, 7, 13, 48, 144}), true);
    check(rows, each({1, 2, 7, 13, 48, 144}));
    MatMulSpec reduction = dense(40, kK, 70);
    reduction.dtype = dtype;
    check(reduction, {{0, 0, 0, 1}, {0, 0, 0, 7}, {0, 0, 0, 48}, {0, 0, 0, 101}}, true);
  }
}

TEST_P(SymbolicMatMul, HalfReductionsLongerThanTheScratch) {
  profile_.scratch_limit = 8 << 10;
  std::vector<Symbols> runs;
  for (const int64_t k : {0, 1, 31, 48, 101, 513, 3000}) runs.push_back({13, 70, 2, k});
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    MatMulSpec s = dense(kM, kK, kN);
    s.dtype = dtype;
    s.batch = {{kBatch, kM * kK, kK * kN, kM * kN}};
    check(s, runs);
    s.b_row_stride = 1, s.b_column_stride = kK;
    check(s, runs);
  }
}

// A panel of B is packed where it fits into scratch; longer reductions read B in place.
TEST_P(SymbolicMatMul, ReductionLongerThanTheScratch) {
  profile_.scratch_limit = 8 << 10;
  std::vector<Symbols> runs;
  for (const int64_t n : {1, 17, 70}) {
    for (const int64_t k : {0, 1, 31, 48, 100, 513, 3000}) runs.push_back({13, n, 2, k});
  }
  for (const Extent& m : {Extent(40), kM}) {
    for (const Extent& n : {Extent(70), kN}) {
      MatMulSpec s = dense(m, kK, n);
      s.b_row_stride = 1, s.b_column_stride = kK;
      s.batch = {{kBatch, m * kK, kK * n, m * n}};
      s.epilogue = gelu();
      check(s, runs);
      s.b_row_stride = n * 3, s.b_column_stride = 1;
      s.batch = {{kBatch, m * kK, kK * n * 3, m * n}};
      check(s, runs);
    }
  }
}

TEST_P(SymbolicMatMul, AttentionOverManyTokens) {
  MatMulSpec s = dense(3, kK, 16);
  s.b_row_stride = 1, s.b_column_stride = kK;
  check(s, {{0, 0, 0, 100}, {0, 0, 0, 40000}});
}

// Attention of 3 heads is [batch, 3, s, 16] x [batch, 3, 16, t], then [batch, 3, s, t] x [batch, 3,
// t, 16].
TEST_P(SymbolicMatMul, Attention) {
  std::vector<Symbols> runs;
  for (const auto& [m, n] : {std::pair{0, 5},
                             {1, 1},
                             {1, 7},
                             {1, 150},
                             {2, 0},
                             {7, 13},
                             {48, 48},
                             {31, 97},
                             {144, 144}}) {
    for (const int64_t batch : {0, 1, 2, 5}) runs.push_back({m, n, batch});
  }
  for (const bool transposed : {false, true}) {
    MatMulSpec s = dense(kM, 16, kN);
    if (transposed) s.b_row_stride = 1, s.b_column_stride = 16;
    s.batch = {{kBatch, kM * 48, kN * 48, kM * kN * 3}, {3, kM * 16, kN * 16, kM * kN}};
    EpilogueBuilder e;  // a mask per batch entry and column
    const int scaled = e.mul(e.accumulator(), e.constant(0.25f));
    s.epilogue = e.finish(e.add(scaled, e.load({{kN, 0}, 0, 1})));
    check(s, runs);
    s = dense(kM, kN, 16);
    if (transposed) s.b_row_stride = 1, s.b_column_stride = kN;
    s.batch = {{kBatch, kM * kN * 3, kN * 48, kM * 48}, {3, kM * kN, kN * 16, kM * 16}};
    check(s, runs);
  }
}

// Attention with operands as [batch, rows, 3, columns], read head by head.
TEST_P(SymbolicMatMul, AttentionOfMergedHeads) {
  std::vector<Symbols> runs;
  for (const auto& [m, n] :
       {std::pair{0, 5}, {1, 1}, {1, 150}, {2, 0}, {7, 13}, {48, 48}, {31, 97}, {144, 145}}) {
    for (const int64_t batch : {0, 1, 3}) runs.push_back({m, n, batch});
  }
  for (const bool turned : {false, true}) {
    MatMulSpec s = dense(kM, 16, kN);
    s.a_row_stride = 48;
    s.b_row_stride = 1, s.b_column_stride = 48;
    if (turned) s.a_row_stride = 1, s.a_k_stride = kM * 3;
    s.batch = {{kBatch, kM * 48, kN * 48, kM * kN * 3}, {3, turned ? kM : Extent(16), 16, kM * kN}};
    check(s, runs);
    s = dense(kM, kN, 16);
    s.b_row_stride = 48;
    if (turned) s.b_row_stride = 1, s.b_column_stride = kN * 3;
    s.batch = {{kBatch, kM * kN * 3, kN * 48, kM * 48},
               {3, kM * kN, turned ? kN : Extent(16), kM * 16}};
    check(s, runs);
    s = dense(kM, 16, kN);
    s.b_row_stride = kN * 3;
    s.batch = {{kBatch, kM * 48, kN * 48, kM * kN * 3}, {3, kM * 16, kN, kM * kN}};
    check(s, runs);
  }
}

TEST_P(SymbolicMatMul, Everything) {
  std::vector<Symbols> runs;
  for (const int64_t m : {1, 7, 50}) {
    for (const int64_t n : {0, 1, 17, 90}) {
      for (const int64_t k : {0, 1, 29}) runs.push_back({m, n, 3, k});
    }
  }
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      MatMulSpec s = dense(kM, kK, kN);
      if (a_transposed) s.a_row_stride = 1, s.a_k_stride = kM;
      if (b_transposed) s.b_row_stride = 1, s.b_column_stride = kK;
      s.batch = {{kBatch, kM * kK, kK * kN, kM * kN}};
      EpilogueBuilder e;
      int value = e.add(e.accumulator(), e.load(EpilogueOperand::full(kN, {kM * kN})));
      value = e.mul(value, e.load({{kM}, 1, 0}));
      s.epilogue = e.finish(e.add(value, e.load({{kN}, 0, 1})));
      check(s, runs);
    }
  }
}

TEST_P(SymbolicMatMul, BatchOnly) {
  MatMulSpec s = dense(20, 30, 40);
  s.batch = {{kBatch, 600, 0, 800}};
  check(s, {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 40}}, true);
  s.batch = {{2, 0, 1200, kBatch * 800}, {kBatch, 600, 0, 800}};
  check(s, {{0, 0, 0}, {0, 0, 1}, {0, 0, 3}});
}

TEST_P(SymbolicMatMul, SymbolsAndNominalValuesNameTheKernel) {
  const MatMulSpec one = dense(kM, 8, 8), other = dense(Extent::of_symbol(1, 48), 8, 8),
                   larger = dense(Extent::of_symbol(0, 49), 8, 8);
  EXPECT_NE(canonical_text(one), canonical_text(other));
  EXPECT_NE(canonical_text(one), canonical_text(larger));
  EXPECT_NE(canonical_text(one), canonical_text(dense(48, 8, 8)));
}

INSTANTIATE_TEST_SUITE_P(Profiles, SymbolicMatMul, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
