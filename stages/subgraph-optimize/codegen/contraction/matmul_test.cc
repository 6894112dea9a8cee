#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

class MatMulKernel : public KernelTest {
 protected:
  MatMulKernel() : KernelTest(3) {}

  static size_t extent(const MatMulSpec& s, Extent BatchAxis::* stride, int64_t rows,
                       int64_t row_stride, int64_t columns, int64_t column_stride) {
    int64_t last = (rows - 1) * row_stride + (columns - 1) * column_stride;
    for (const BatchAxis& axis : s.batch) last += (axis.size.nominal - 1) * (axis.*stride).nominal;
    return static_cast<size_t>(last + 1);
  }

  // Runs the spec in three forms where they apply (direct or strided B as given, packed B) and
  // compares with double precision.
  void check(MatMulSpec s, const std::string& what) {
    if (is_left_out()) return;
    SCOPED_TRACE(what + ": " + canonical_text(s));
    const auto a = random_floats(extent(s, &BatchAxis::a_stride, s.m.nominal,
                                        s.a_row_stride.nominal, s.k.nominal, s.a_k_stride.nominal),
                                 random_, s.dtype);
    const auto b =
        random_floats(extent(s, &BatchAxis::b_stride, s.k.nominal, s.b_row_stride.nominal,
                             s.n.nominal, s.b_column_stride.nominal),
                      random_, s.dtype);
    const size_t c_elements =
        extent(s, &BatchAxis::c_stride, s.m.nominal, s.c_row_stride.nominal, s.n.nominal, 1);
    std::vector<std::vector<float>> operands;
    std::vector<const float*> operand_pointers;
    for (const EpilogueOperand& o : s.epilogue.operands) {
      int64_t last =
          (s.m.nominal - 1) * o.row_stride.nominal + (s.n.nominal - 1) * o.column_stride.nominal;
      for (size_t i = 0; i < o.batch_strides.size(); ++i)
        last += (s.batch[i].size.nominal - 1) * o.batch_strides[i].nominal;
      operands.push_back(random_floats(static_cast<size_t>(last + 1), random_,
                                       s.epilogue.operand_dtype(operands.size())));
    }
    for (const auto& operand : operands) operand_pointers.push_back(operand.data());
    const auto expected = reference_matmul(s, a.data(), b.data(), operand_pointers, c_elements);
    run(s, a, b, operands, expected);

    s.b_packed = true;
    StridedPacking pack;
    for (BatchAxis& axis : s.batch) {
      if (axis.b_stride.nominal != 0)
        pack.batch.push_back({axis.size.nominal, axis.b_stride.nominal});
    }
    pack.reduction = {{s.k.nominal, s.b_row_stride.nominal}};
    pack.columns = {s.n.nominal, s.b_column_stride.nominal};
    pack.nr = choose_matmul_plan(s, profile_).nr;
    std::vector<float> packed = reference_pack(pack, b.data());
    if (s.dtype == DType::kBF16) packed = in_pairs(packed, s.k.nominal, pack.nr);
    auto packed_stride = static_cast<int64_t>(packed.size());
    for (const StridedPacking::Axis& axis : pack.batch) packed_stride /= axis.size;
    for (size_t i = s.batch.size(); i-- > 0;) {
      if (s.batch[i].b_stride.nominal == 0) continue;
      s.batch[i].b_stride = packed_stride;
      packed_stride *= s.batch[i].size.nominal;
    }
    run(s, a, packed, operands, expected);
  }

  void run(const MatMulSpec& s, const std::vector<float>& a, const std::vector<float>& b,
           const std::vector<std::vector<float>>& operands, const std::vector<double>& expected) {
    auto kernel = generate_matmul(s, profile_);
    ASSERT_TRUE(kernel.ok()) << error_text(kernel.error());
    auto runnable = RunnableKernel::load(*kernel);
    ASSERT_TRUE(runnable.ok()) << error_text(runnable.error());
    if (!is_runnable_) return;
    const DType stored = s.epilogue.stored(DType::kF32);
    std::vector<std::vector<std::byte>> bytes = {
        elements_of(std::vector<float>(expected.size(), kUntouchedFloat), stored),
        elements_of(a, s.dtype), elements_of(b, s.dtype)};
    for (size_t i = 0; i < operands.size(); ++i)
      bytes.push_back(elements_of(operands[i], s.epilogue.operand_dtype(i)));
    std::vector<void*> pointers;
    for (std::vector<std::byte>& operand : bytes) pointers.push_back(operand.data());
    runnable->run(pointers);
    const std::vector<float> c = numbers_of(bytes[0], stored);
    const double tolerance =
        1e-6 * std::sqrt(static_cast<double>(s.k.nominal)) + 3e-6 + rounding_error(stored);
    for (size_t i = 0; i < c.size(); ++i) {
      if (static_cast<int64_t>(i) % s.c_row_stride.nominal >= s.n.nominal && s.batch.empty()) {
        ASSERT_EQ(c[i], kUntouchedFloat) << "element " << i;
      } else if (c[i] != kUntouchedFloat) {
        ASSERT_NEAR(c[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
            << "element " << i;
      } else {
        ASSERT_EQ(expected[i], 0) << "element " << i;
      }
    }
  }

  // Returns relu(sum + bias + residual), all but the sum of the dtype.
  static Epilogue half_epilogue(int64_t n, DType dtype) {
    EpilogueBuilder e;
    const int biased = e.add(e.accumulator(), e.load(EpilogueOperand::column(), dtype));
    return e.finish(e.relu(e.add(biased, e.load(EpilogueOperand::full(n), dtype))), dtype);
  }

  static MatMulSpec dense(int64_t m, int64_t k, int64_t n) {
    MatMulSpec s;
    s.m = m, s.n = n, s.k = k;
    s.a_row_stride = k;
    s.b_row_stride = n;
    s.c_row_stride = n;
    return s;
  }
};

TEST_P(MatMulKernel, RandomSizes) {
  const auto draw = [&](int64_t high) {
    return 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(high));
  };
  for (int i = 0; i < 40; ++i) {
    const int64_t limit = i < 20 ? 20 : 130;
    check(dense(draw(limit), draw(limit), draw(limit)), "dense");
  }
}

TEST_P(MatMulKernel, Transposes) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      MatMulSpec s = dense(37, 29, 43);
      if (a) s.a_row_stride = 1, s.a_k_stride = s.m.nominal;
      if (b) s.b_row_stride = 1, s.b_column_stride = s.k.nominal;
      s.c_row_stride = 50;
      check(s, "transpose");
    }
  }
}

// Few rows with columns that are contiguous are dot products.
TEST_P(MatMulKernel, RowsWithTransposedColumns) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const auto& [m, k, n] :
         {std::tuple{1, 1, 2}, {1, 64, 256}, {1, 130, 71}, {2, 7, 9}, {3, 1000, 40}, {4, 33, 3}}) {
      MatMulSpec s = dense(m, k, n);
      s.dtype = dtype;
      s.b_row_stride = 1, s.b_column_stride = k + 5;
      s.c_row_stride = n + 3;
      check(s, "plain");
      s.epilogue = half_epilogue(n + 3, dtype);
      check(s, "bias, residual, relu");
      s.epilogue = {};
      s.batch = {{3, m * k, 0, m * (n + 3)}, {5, 3 * m * k, (k + 5) * n, 3 * m * (n + 3)}};
      check(s, "batch");
    }
  }
}

TEST_P(MatMulKernel, DotProductsPackNothing) {
  MatMulSpec s = dense(1, 512, 1000);
  s.b_row_stride = 1, s.b_column_stride = 512;
  const auto row = generate_matmul(s, profile_);
  ASSERT_TRUE(row.ok()) << error_text(row.error());
  EXPECT_EQ(row->scratch_bytes, 0u);
  s.m = 200;
  const auto rows = generate_matmul(s, profile_);
  ASSERT_TRUE(rows.ok()) << error_text(rows.error());
  EXPECT_GT(rows->scratch_bytes, 0u);
}

constexpr DType kHalves[] = {DType::kF16, DType::kBF16};

TEST_P(MatMulKernel, HalfSizes) {
  for (const DType dtype : kHalves) {
    for (int i = 0; i < 12; ++i) {
      const int64_t limit = i < 6 ? 20 : 130;
      MatMulSpec s = dense(draw(1, limit), draw(1, limit), draw(1, limit));
      s.dtype = dtype;
      if (i % 3 != 0) s.epilogue = half_epilogue(s.n.nominal, dtype);
      check(s, "dense");
    }
  }
}

TEST_P(MatMulKernel, HalfTransposes) {
  for (const DType dtype : kHalves) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        MatMulSpec s = dense(37, 29, 43);
        s.dtype = dtype;
        if (a) s.a_row_stride = 1, s.a_k_stride = s.m.nominal;
        if (b) s.b_row_stride = 1, s.b_column_stride = s.k.nominal;
        check(s, "transpose");
        s.batch = {{3, 37 * 29, 29 * 43, 37 * 43}};
        check(s, "batch");
        s.batch.clear();
        s.b_row_stride = 2, s.b_column_stride = 2 * s.k.nominal;
        check(s, "every other element");
      }
    }
  }
}

TEST_P(MatMulKernel, HalfVectors) {
  for (const DType dtype : kHalves) {
    for (const auto& [m, k, n] :
         {std::tuple{1, 301, 500}, {300, 200, 1}, {1, 1, 1}, {1, 2001, 3}}) {
      MatMulSpec s = dense(m, k, n);
      s.dtype = dtype;
      check(s, "vectors");
    }
  }
}

// Rows of A are copied where they fit into scratch, and read in place otherwise.
TEST_P(MatMulKernel, HalfReductionsLongerThanTheScratch) {
  profile_.scratch_limit = 4 << 10;
  for (const DType dtype : kHalves) {
    for (const int64_t k : {60, 301, 3001}) {
      MatMulSpec s = dense(21, k, 40);
      s.dtype = dtype;
      check(s, "long");
      s.a_row_stride = 1, s.a_k_stride = s.m.nominal;
      s.b_row_stride = 1, s.b_column_stride = s.k.nominal;
      check(s, "long and transposed");
    }
  }
}

TEST_P(MatMulKernel, HalfResultsOfFloats) {
  for (const DType dtype : kHalves) {
    MatMulSpec s = dense(30, 20, 70);
    s.epilogue = half_epilogue(70, dtype);
    check(s, "stored as half");
    s = dense(7, 64, 33);
    s.dtype = dtype;
    EpilogueBuilder e;
    s.epilogue = e.finish(e.mul(e.accumulator(), e.load(EpilogueOperand::row())));
    check(s, "stored as float");
  }
}

TEST_P(MatMulKernel, BatchWithBroadcast) {
  MatMulSpec s = dense(9, 17, 21);
  s.batch = {{3, 0, 2 * 17 * 21, 2 * 9 * 21}, {2, 9 * 17, 17 * 21, 9 * 21}};
  check(s, "A broadcast over the outer axis");
  s.batch = {{5, 9 * 17, 0, 2 * 9 * 21}, {2, 0, 0, 9 * 21}};
  check(s, "B broadcast over both");
  s = dense(5, 3, 4);
  s.batch = {{70, 15, 12, 20}};
  check(s, "more entries than blocks");
}

// Operands are [batch, row, head, column], read head by head; rows and columns are exchanged or
// not.
TEST_P(MatMulKernel, OperandsWithAxesPermuted) {
  for (const auto& [m, k, n] : {std::tuple{1, 17, 33},
                                {1, 1, 1},
                                {5, 16, 1},
                                {37, 29, 43},
                                {100, 64, 96},
                                {61, 5, 150},
                                {64, 130, 7}}) {
    for (const bool a_turned : {false, true}) {
      for (const bool b_turned : {false, true}) {
        constexpr int64_t kBatch = 2, kHeads = 3;
        MatMulSpec s = dense(m, k, n);
        s.a_row_stride = kHeads * k, s.a_k_stride = 1;
        s.b_row_stride = kHeads * n, s.b_column_stride = 1;
        if (a_turned) s.a_row_stride = 1, s.a_k_stride = kHeads * m;
        if (b_turned) s.b_row_stride = 1, s.b_column_stride = kHeads * k;
        s.batch = {{kBatch, kHeads * m * k, kHeads * k * n, kHeads * m * n},
                   {kHeads, a_turned ? m : k, b_turned ? k : n, m * n}};
        check(s, "permuted");
        if (n > 1 && m > 1) {
          s.b_row_stride = 2, s.b_column_stride = 2 * k;  // neither rows nor columns are neighbours
          s.batch = {{kBatch, kHeads * m * k, 2 * k * n, m * n}};
          check(s, "every other element");
        }
      }
    }
  }
}

TEST_P(MatMulKernel, Vectors) {
  check(dense(1, 300, 500), "row times matrix");
  check(dense(300, 200, 1), "matrix times column");
  check(dense(1, 1, 1), "scalars");
  check(dense(1, 2000, 3), "dot products");
}

TEST_P(MatMulKernel, Epilogues) {
  for (const auto& [m, k, n] : {std::tuple{30, 20, 70}, std::tuple{7, 64, 33}}) {
    MatMulSpec s = dense(m, k, n);
    EpilogueBuilder e;
    int value = e.add(e.accumulator(), e.load(EpilogueOperand::column()));
    value = e.add(value, e.load(EpilogueOperand::full(n)));
    s.epilogue = e.finish(e.relu(value));
    check(s, "bias, residual, relu");
    EpilogueBuilder gelu;
    value = gelu.add(gelu.accumulator(), gelu.load(EpilogueOperand::column()));
    const int erf = gelu.scalar(loop::ScalarOp::kErf, gelu.mul(value, gelu.constant(0.70710678f)));
    s.epilogue = gelu.finish(
        gelu.mul(gelu.mul(value, gelu.constant(0.5f)), gelu.add(erf, gelu.constant(1))));
    check(s, "gelu");
    EpilogueBuilder row;
    value = row.mul(row.accumulator(), row.load(EpilogueOperand::row()));
    s.epilogue =
        row.finish(row.clip(row.add(value, row.load(EpilogueOperand::scalar())), -0.5f, 0.5f));
    check(s, "row scale, scalar, clip");
    s.batch = {{3, m * k, k * n, m * n}};
    EpilogueBuilder mask;
    value = mask.add(mask.accumulator(), mask.load({{n}, 0, 1}));
    s.epilogue = mask.finish(value);
    check(s, "mask per batch entry");
  }
}

TEST_P(MatMulKernel, RefusesNonsense) {
  MatMulSpec s = dense(4, 4, 4);
  s.k = 0;
  EXPECT_FALSE(generate_matmul(s, profile_).ok());
  s = dense(4, 4, 4);
  EpilogueBuilder later;
  s.epilogue = later.finish(later.add(later.accumulator(), 1));
  auto kernel = generate_matmul(s, profile_);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kCodegen);
  EpilogueBuilder missing;
  s.epilogue = missing.finish(missing.load(EpilogueOperand::column()));
  s.epilogue.operands.clear();
  EXPECT_FALSE(generate_matmul(s, profile_).ok());
}

TEST_P(MatMulKernel, SameSpecSameBytes) {
  const MatMulSpec s = dense(20, 30, 40);
  auto one = generate_matmul(s, profile_);
  auto two = generate_matmul(s, profile_);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->object, two->object);
  EXPECT_EQ(one->entry, two->entry);
  auto other = generate_matmul(dense(20, 30, 41), profile_);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(one->entry, other->entry);
}

// Counts the instructions vdpbf16ps by their encoding: EVEX with the prefix F3, opcode map 2,
// opcode 52.
int64_t count_dot_products(const std::vector<std::byte>& code) {
  int64_t count = 0;
  const auto at = [&](size_t i) { return std::to_integer<int>(code[i]); };
  for (size_t i = 0; i + 4 < code.size(); ++i)
    count += at(i) == 0x62 && (at(i + 1) & 7) == 2 && (at(i + 2) & 3) == 2 && at(i + 4) == 0x52;
  return count;
}

// No CPU is needed to generate code.
TEST(DotProducts, OneInstructionTakesPairsOfBf16) {
  for (const bool packed : {false, true}) {
    MatMulSpec s;
    s.m = 37, s.k = 61, s.n = 90;
    s.a_row_stride = 61, s.b_row_stride = s.c_row_stride = 90;
    s.b_packed = packed;
    s.dtype = DType::kBF16;
    const auto dot = generate_matmul(s, *get_profile("cpu-avx512bf16"));
    ASSERT_TRUE(dot.ok()) << error_text(dot.error());
    EXPECT_GT(count_dot_products(dot->object), 0);
    const auto widened = generate_matmul(s, *get_profile("cpu-avx512vnni"));
    ASSERT_TRUE(widened.ok()) << error_text(widened.error());
    EXPECT_EQ(count_dot_products(widened->object), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, MatMulKernel, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
