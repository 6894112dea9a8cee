#include "common/loop/testing/random_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "common/loop/interpreter.h"
#include "common/loop/scalar_value.h"
#include "common/loop/text.h"
#include "common/loop/verify.h"

namespace sluice::loop {
namespace {

Result<std::vector<std::vector<std::byte>>> results(const LoopGraph& graph,
                                                    const RandomLoops& loops) {
  auto memories = loops.operands;
  std::vector<std::byte*> operands;
  for (auto& memory : memories) operands.push_back(memory.data());
  SLUICE_TRY(interpret(graph, loops.sizes, operands));
  return memories;
}

Result<void> try_loops(const RandomLoops& loops) {
  SLUICE_TRY(verify(loops.graph));
  const std::string text = print_loops(loops.graph);
  SLUICE_ASSIGN(const LoopGraph parsed, parse_loops(text, "loops"));
  SLUICE_TRY(verify(parsed));
  EXPECT_EQ(print_loops(parsed), text);
  SLUICE_ASSIGN(const auto before, results(loops.graph, loops));
  SLUICE_ASSIGN(const auto after, results(parsed, loops));
  EXPECT_EQ(before, after);
  return {};
}

TEST(RandomLoopsTest, VerifyPrintParseAndRun) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const RandomLoops loops = random_loops(seed);
    const auto result = try_loops(loops);
    ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << Result<void>(result).error().message
                             << "\n"
                             << print_loops(loops.graph);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(RandomLoopsTest, TheSameSeedMakesTheSameLoops) {
  for (const uint32_t seed : {3u, 17u}) {
    const RandomLoops a = random_loops(seed), b = random_loops(seed);
    EXPECT_EQ(print_loops(a.graph), print_loops(b.graph));
    EXPECT_EQ(a.operands, b.operands);
    EXPECT_EQ(a.sizes, b.sizes);
  }
}

void count_kinds(const LoopGraph& graph, std::set<std::string>& seen) {
  for (const Buffer& buffer : graph.buffers) {
    seen.insert(std::string(dtype_name(buffer.dtype)));
    if (buffer.is_local) seen.insert("local");
    if (buffer.storage != dense_map(buffer.dims.size())) seen.insert("stored");
    if (buffer.capacity != buffer.dims) seen.insert("capacity");
  }
  for (const Nest& nest : graph.nests) {
    for (const Instruction& own : nest.instructions)
      if (own.kind == InstructionKind::kScalar) seen.insert(std::string(scalar_row(own.op).text));
    for (const Accumulator& own : nest.accumulators)
      seen.insert("$" + std::string(combine_name(own.combine)));
  }
}

// Everything that loops can have occurs.
TEST(RandomLoopsTest, AreOfAllKinds) {
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 500; ++seed) count_kinds(random_loops(seed).graph, seen);
  EXPECT_TRUE(seen.contains("local") && seen.contains("stored") && seen.contains("capacity"));
  for (const char* dtype :
       {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"})
    EXPECT_TRUE(seen.contains(dtype)) << dtype;
#define SLUICE_SCALAR(name, text, operands, result, cost) EXPECT_TRUE(seen.contains(text)) << text;
#include "common/loop/scalar.def"
#undef SLUICE_SCALAR
  for (const char* combine : {"sum", "product", "max", "min", "argmax", "argmin", "carry"})
    EXPECT_TRUE(seen.contains(std::string("$") + combine)) << combine;
}

// What is said about values holds: results are finite.
TEST(RandomLoopsTest, ResultsAreFinite) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const RandomLoops loops = random_loops(seed);
    const auto memories = results(loops.graph, loops);
    ASSERT_TRUE(memories.ok()) << seed;
    for (size_t i = 0; i < memories->size(); ++i) {
      const DType dtype = loops.graph.buffers[i].dtype;
      if (!dtype_is_float(dtype)) continue;
      const size_t width = static_cast<size_t>(dtype_bits(dtype)) / 8;
      for (size_t at = 0; at < (*memories)[i].size(); at += width) {
        const uint64_t bits = load_value(dtype, (*memories)[i].data() + at);
        bool fault = false;
        const uint64_t is_finite =
            compute_scalar(ScalarOp::kEqual, register_dtype(dtype), DType::kBool,
                           {compute_scalar(ScalarOp::kSub, register_dtype(dtype),
                                           register_dtype(dtype), {bits, bits, 0}, fault),
                            0, 0},
                           fault);
        ASSERT_EQ(is_finite, 1u) << "seed " << seed << ", operand " << i;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::loop
