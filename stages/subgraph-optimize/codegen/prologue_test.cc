// Kernels that compute their first operand, beside those that read what the interpreter makes of
// the same loops.
#include "stages/subgraph-optimize/codegen/prologue.h"

#include <gtest/gtest.h>

#include "common/loop/interpreter.h"
#include "common/loop/text.h"
#include "stages/subgraph-optimize/codegen/codegen_testing.h"
#include "stages/subgraph-optimize/codegen/kernel_test.h"

namespace sluice {
namespace {

// relu(x * s), s by column, beside a part that is copied. ROWS are 37, or a size.
constexpr const char* kLoops = R"(loops 1
SIZE
buffer y: f32[ROWS, 50] written
buffer x: f32[ROWS, 37]
buffer s: f32[37]
buffer z: f32[ROWS, 13]
nest for r < ROWS, c < 37 {
  sweep {
    %0: f32 = load x[r, c]
    %1: f32 = load s[c]
    %2: f32 = mul %0, %1
    %3: f32 = constant 0
    %4: f32 = max %2, %3
    store y[r, c] = %4
  }
}
nest for q < ROWS, d < 13 {
  sweep {
    %0: f32 = load z[q, d]
    store y[q, d + 37] = %0
  }
}
)";

constexpr int64_t kColumns = 50;

class PrologueKernel : public KernelTest {
 protected:
  static Prologue make_prologue(bool is_symbolic, uint16_t result_rank) {
    std::string text = kLoops;
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    replace("SIZE", is_symbolic ? "size m = dim 2 in [0, *] nominal 37" : "");
    replace("ROWS", is_symbolic ? "m" : "37");
    auto loops = loop::parse_loops(text, "t");
    EXPECT_TRUE(loops.ok()) << error_text(loops.error());
    Prologue prologue;
    prologue.loops = *std::move(loops);
    prologue.first_symbol = result_rank;
    return prologue;
  }

  // What the prologue reads, and the matrix that the interpreter makes of it.
  struct Operands {
    std::vector<float> x, s, z, made;
  };
  Operands make_operands(const Prologue& prologue, int64_t rows) {
    Operands own{random_floats(static_cast<size_t>(rows * 37 + 1), random_),
                 random_floats(37, random_),
                 random_floats(static_cast<size_t>(rows * 13 + 1), random_),
                 std::vector<float>(static_cast<size_t>(rows * kColumns + 1))};
    std::byte* memories[] = {bytes(own.made), bytes(own.x), bytes(own.s), bytes(own.z)};
    const std::vector<int64_t> sizes = {rows, kColumns, rows, 37, 37, rows, 13};
    const auto made = loop::interpret(prologue.loops, sizes, memories);
    EXPECT_TRUE(made.ok()) << error_text(made.error());
    return own;
  }

  static std::byte* bytes(std::vector<float>& floats) {
    return reinterpret_cast<std::byte*>(floats.data());
  }

  template <typename Spec>
  std::vector<float> run(const Spec& spec,
                         Result<GeneratedKernel> (*generate)(const Spec&, const DeviceProfile&),
                         std::vector<std::vector<float>*> inputs, size_t elements,
                         const std::vector<int64_t>& symbols) {
    auto kernel = generate(spec, profile_);
    EXPECT_TRUE(kernel.ok()) << error_text(kernel.error());
    if (!kernel) return {};
    auto runnable = RunnableKernel::load(*kernel);
    EXPECT_TRUE(runnable.ok());
    std::vector<float> result(elements, 12345);
    std::vector<void*> pointers = {result.data()};
    for (auto* input : inputs) pointers.push_back(input->data());
    if (is_fixed(spec)) {
      runnable->run(pointers);
    } else {
      runnable->run(pointers, symbols);
    }
    return result;
  }
};

MatMulSpec product(const Extent& rows, int64_t columns) {
  MatMulSpec s;
  s.m = rows, s.n = columns, s.k = kColumns;
  s.a_row_stride = kColumns, s.c_row_stride = columns, s.b_packed = true;
  EpilogueBuilder e;
  s.epilogue = e.finish(e.add(e.accumulator(), e.load(EpilogueOperand::column())));
  return s;
}

TEST_P(PrologueKernel, Products) {
  for (const bool is_symbolic : {false, true}) {
    for (const int64_t columns : {5, 70, 200}) {
      MatMulSpec plain = product(is_symbolic ? Extent::of_symbol(2, 37) : Extent(37), columns);
      MatMulSpec with = plain;
      with.prologue = make_prologue(is_symbolic, 2);
      for (const int64_t rows : {37, 1, 0, 150}) {
        if (!is_symbolic && rows != 37) continue;
        Operands own = make_operands(with.prologue, rows);
        std::vector<float> b = random_floats(static_cast<size_t>(kColumns * 400), random_),
                           bias = random_floats(static_cast<size_t>(columns), random_);
        // The dims of c, then of what the first operand is.
        const std::vector<int64_t> sizes = {rows, columns, rows, 37, 37, rows, 13},
                                   plain_sizes = {rows, columns, rows, kColumns};
        const auto elements = static_cast<size_t>(rows * columns);
        EXPECT_EQ(run(with, generate_matmul, {&own.x, &own.s, &own.z, &b, &bias}, elements, sizes),
                  run(plain, generate_matmul, {&own.made, &b, &bias}, elements, plain_sizes))
            << rows << " rows, " << columns << " columns";
      }
    }
  }
}

// The batch entries of A are the rows of one matrix.
TEST_P(PrologueKernel, ProductsOfABatch) {
  MatMulSpec plain = product(12, 20);
  plain.batch = {{3, 12 * kColumns, 0, 12 * 20}};
  MatMulSpec with = plain;
  with.prologue = make_prologue(false, 3);
  Operands own = make_operands(with.prologue, 37);
  std::vector<float> b = random_floats(kColumns * 100, random_), bias = random_floats(20, random_);
  EXPECT_EQ(run(with, generate_matmul, {&own.x, &own.s, &own.z, &b, &bias}, 3 * 240, {}),
            run(plain, generate_matmul, {&own.made, &b, &bias}, 3 * 240, {}));
}

TEST_P(PrologueKernel, Convolutions) {
  for (const bool is_symbolic : {false, true}) {
    ConvSpec plain;
    plain.h = plain.oh = is_symbolic ? Extent::of_symbol(2, 37) : Extent(37);
    plain.ci = kColumns, plain.co = 24;
    ConvSpec with = plain;
    with.prologue = make_prologue(is_symbolic, 4);
    // The dims of y are [1, co, h, 1]; then come those of what x is.
    if (is_symbolic) with.prologue.first_symbol = 4;
    for (const int64_t rows : {37, 1, 100}) {
      if (!is_symbolic && rows != 37) continue;
      Operands own = make_operands(with.prologue, rows);
      std::vector<float> w = random_floats(kColumns * 100, random_);
      const auto elements = static_cast<size_t>(rows * 24);
      EXPECT_EQ(run(with, generate_conv, {&own.x, &own.s, &own.z, &w}, elements,
                    {1, 24, rows, 1, rows, 37, 37, rows, 13}),
                run(plain, generate_conv, {&own.made, &w}, elements, {1, 24, rows, 1}))
          << rows;
    }
  }
}

TEST_P(PrologueKernel, SpecificationsThatDoNotFitAreRefused) {
  MatMulSpec unpacked = product(37, 20);
  unpacked.prologue = make_prologue(false, 2);
  MatMulSpec narrow = unpacked;
  unpacked.b_packed = false;
  narrow.k = narrow.a_row_stride = 49;
  ConvSpec large{.h = 37, .w = 4, .ci = kColumns, .oh = 35, .ow = 2, .co = 8, .kh = 3, .kw = 3};
  large.prologue = make_prologue(false, 4);
  EXPECT_EQ(generate_matmul(unpacked, profile_).error().message,
            "matmul with a prologue, but without a dense A and a packed B");
  EXPECT_EQ(generate_matmul(narrow, profile_).error().message,
            "prologue: it makes no matrix of 49 columns");
  EXPECT_EQ(generate_conv(large, profile_).error().message,
            "conv with a prologue, but more than 1x1");
}

INSTANTIATE_TEST_SUITE_P(Profiles, PrologueKernel, testing::ValuesIn(profile_names()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
