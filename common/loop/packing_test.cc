#include "common/loop/packing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "common/loop/interpreter.h"
#include "common/loop/text.h"
#include "common/loop/verify.h"

namespace sluice::loop {
namespace {

// Packs 1, 2, 3, … by the interpreter.
std::vector<float> packed(const Packing& packing) {
  const LoopGraph graph = packing_loops(packing);
  const auto verified = verify(graph);
  EXPECT_TRUE(verified.ok()) << error_text(verified.error());
  std::vector<int64_t> sizes;
  std::vector<std::vector<float>> memories;
  std::vector<std::byte*> operands;
  LoopGraph own = graph;
  for (const Buffer& buffer : own.buffers) {
    for (const ExpressionId dim : buffer.dims) sizes.push_back(*own.expressions.as_constant(dim));
    const int64_t elements = *own.expressions.as_constant(stored_elements(own, buffer));
    memories.emplace_back(static_cast<size_t>(elements), -1.0f);
  }
  std::iota(memories[1].begin(), memories[1].end(), 1.0f);
  for (auto& memory : memories) operands.push_back(reinterpret_cast<std::byte*>(memory.data()));
  const auto run = interpret(graph, sizes, operands);
  EXPECT_TRUE(run.ok()) << error_text(run.error());
  return memories[0];
}

TEST(PackingTest, ColumnsPastTheEndAreZero) {
  // 2 rows of 5 columns: two panels of 3.
  EXPECT_EQ(packed({1, 5, {2}, {0}, false, 3}),
            (std::vector<float>{1, 2, 3, 6, 7, 8, 4, 5, 0, 9, 10, 0}));
  EXPECT_EQ(packed({1, 5, {2}, {0}, true, 3}),
            (std::vector<float>{1, 3, 5, 2, 4, 6, 7, 9, 0, 8, 10, 0}));
}

TEST(PackingTest, WholePanelsAndPanelsOfOneColumn) {
  EXPECT_EQ(packed({2, 2, {2}, {0}, false, 2}), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(packed({1, 2, {3}, {0}, false, 1}), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(packed({2, 3, {1}, {0}, true, 2}), (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0}));
}

TEST(PackingTest, AxesOfTheReductionChangePlaces) {
  // A weight [columns 2][ci 2][kh 1][kw 3] in the order (kh, kw, ci).
  EXPECT_EQ(packed({1, 2, {2, 1, 3}, {1, 2, 0}, true, 2}),
            (std::vector<float>{1, 7, 4, 10, 2, 8, 5, 11, 3, 9, 6, 12}));
}

TEST(PackingTest, PrintsTheStorageOfPanels) {
  EXPECT_EQ(print_loops(packing_loops({2, 40, {8, 3, 3}, {1, 2, 0}, true, 16})), R"(loops 1
buffer y0: f32[2, 72, 48] stored [0, 2 by 16, 1 by 3 mod 3, 1 mod 3, 1 by 9, 2 mod 16] written
buffer x1: f32[2, 40, 72]
nest for i0 < 2, i1 < 3, i2 < 72, i3 < 16 {
  sweep {
    %0: f32 = constant 0
    %1: f32 = load x1[i0, 16*i1 + i3, i2] if 0 <= 16*i1 + i3 < 40 else %0
    store y0[i0, i2, 16*i1 + i3] = %1
  }
}
)");
}

// The columns that panels round up are a part of the operand: its dims count them.
TEST(PackingTest, SizesMayBeSymbols) {
  auto graph = parse_loops(R"(loops 1
size k = dim 2 in [0, *] nominal 8
size n = dim 3 in [0, *] nominal 8
buffer y: f32[k, 4*floordiv(n + 3, 4)] stored [1 by 4, 0, 1 mod 4] written
buffer x: f32[k, n]
nest for p < floordiv(n + 3, 4), r < k, j < 4 {
  sweep {
    %0: f32 = constant 0
    %1: f32 = load x[r, 4*p + j] if 0 <= 4*p + j < n else %0
    store y[r, 4*p + j] = %1
  }
}
)",
                           "t");
  ASSERT_TRUE(graph.ok()) << error_text(graph.error());
  ASSERT_TRUE(verify(*graph).ok());
  std::vector<float> y(2 * 8, -1), x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::byte* operands[] = {reinterpret_cast<std::byte*>(y.data()),
                           reinterpret_cast<std::byte*>(x.data())};
  const auto interpreted = [&](int64_t padded) {
    return interpret(*graph, std::vector<int64_t>{2, padded, 2, 5}, operands);
  };
  EXPECT_EQ(interpreted(5).error().message, "dim 1 of the operands is 5, not 8");
  ASSERT_TRUE(interpreted(8).ok());
  EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 4, 6, 7, 8, 9, 5, 0, 0, 0, 10, 0, 0, 0}));
}

}  // namespace
}  // namespace sluice::loop
