// Kernels that pack an operand of a contraction beside the interpreter: columns or the reduction
// are contiguous, and some are past the end.
#include <gtest/gtest.h>

#include <numeric>

#include "common/loop/interpreter.h"
#include "common/loop/packing.h"
#include "common/loop/text.h"
#include "stages/subgraph-optimize/codegen/testing/loop_kernels.h"

namespace sluice {
namespace {

constexpr float kUntouched = 12345;

class PackingKernelTest : public LoopProfileTest {
 protected:
  // sizes: the dims of the packed operand and of the operand.
  void check(loop::LoopGraph graph, const std::vector<int64_t>& sizes) {
    SCOPED_TRACE(loop::print_loops(graph));
    const auto elements = [&](size_t buffer) {
      const auto value_of = [&](SymbolId symbol) {
        return sizes[static_cast<size_t>(graph.symbols[static_cast<size_t>(symbol)].index)];
      };
      const ExpressionId stored = loop::stored_elements(graph, graph.buffers[buffer]);
      return static_cast<size_t>(*graph.expressions.evaluate(stored, value_of));
    };
    std::vector<float> operand(elements(1) + 1), expected(elements(0) + 16, kUntouched);
    std::iota(operand.begin(), operand.end(), 1.0f);
    std::vector<float> packed = expected;
    const auto run = [&](std::vector<float>& to, const auto& with) {
      std::byte* operands[] = {reinterpret_cast<std::byte*>(to.data()),
                               reinterpret_cast<std::byte*>(operand.data())};
      const Result<void> result = with(operands);
      EXPECT_TRUE(result.ok()) << error_text(result.error());
    };
    run(expected, [&](auto& operands) { return loop::interpret(graph, sizes, operands); });
    run(packed, [&](auto& operands) { return run_loop_kernel(graph, sizes, operands, profile()); });
    EXPECT_EQ(packed, expected);
  }

  void check(const loop::Packing& packing) {
    const loop::LoopGraph graph = loop::packing_loops(packing);
    std::vector<int64_t> sizes;
    for (const loop::Buffer& buffer : graph.buffers)
      for (const ExpressionId dim : buffer.dims)
        sizes.push_back(*graph.expressions.as_constant(dim));
    check(graph, sizes);
  }
};

TEST_P(PackingKernelTest, Matrices) {
  for (const int64_t columns : {1, 5, 48, 50, 130}) {
    for (const int64_t k : {1, 3, 16, 37, 100}) {
      check({1, columns, {k}, {0}, false, 64});
      check({2, columns, {k}, {0}, true, 48});
      check({1, columns, {k}, {0}, true, 6});
    }
  }
}

TEST_P(PackingKernelTest, WeightsOfConvolutions) {
  for (const std::vector<size_t>& order : {std::vector<size_t>{1, 2, 0}, {0, 2, 1}}) {
    check({1, 64, {32, 3, 3}, order, true, 32});
    check({2, 21, {5, 3, 2}, order, true, 16});
    check({3, 14, {17, 1, 1}, order, true, 6});
    check({1, 30, {3, 7, 7}, order, true, 64});
  }
}

// The symbols are k and n of [k, n], and of its transpose.
TEST_P(PackingKernelTest, SymbolicSizes) {
  constexpr const char* kText = R"(loops 1
size s = dim 2 in [0, *] nominal 48
size t = dim 3 in [0, *] nominal 40
buffer y: f32[K, 16*floordiv(N + 15, 16)] stored [1 by 16, 0, 1 mod 16] written
buffer x: f32[s, t]
nest for p < floordiv(N + 15, 16), r < K, j < 16 {
  sweep {
    %0: f32 = constant 0
    %1: f32 = load x[INDEX] if 0 <= 16*p + j < N else %0
    store y[r, 16*p + j] = %1
  }
}
)";
  for (const bool columns_first : {false, true}) {
    std::string text = kText;
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    replace("INDEX", columns_first ? "16*p + j, r" : "r, 16*p + j");
    replace("K", columns_first ? "t" : "s");
    replace("N", columns_first ? "s" : "t");
    auto graph = loop::parse_loops(text, "t");
    ASSERT_TRUE(graph.ok()) << error_text(graph.error());
    for (const auto& [k, n] :
         {std::pair{0, 5}, {5, 0}, {1, 1}, {33, 20}, {48, 48}, {150, 200}, {64, 15}}) {
      const int64_t padded = (n + 15) / 16 * 16;
      check(*graph, {k, padded, columns_first ? n : k, columns_first ? k : n});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, PackingKernelTest, testing::Values(0, 1, 2));

}  // namespace
}  // namespace sluice
