#include "common/loop/verify.h"

#include <gtest/gtest.h>

#include "common/loop/text.h"

namespace sluice::loop {
namespace {

constexpr char kRow[] = R"(loops 1
size n0 = dim 0 in [1, 64] nominal 4
buffer y0: f32[n0, 8] written
buffer x1: f16[n0, 8]
buffer x2: i64[n0]
buffer t3: f32[8] local
nest for i0 < n0 {
  sweep {
    %0: i64 as v0 in [0, 7] = load x2[i0]
    %1: f32 = constant inf
  }
  sweep for i1 < 8 {
    %2: f32 = load x1[i0, i1]
    %3: f32 = load x1[i0, i1 + 1] if 0 <= i1 + 1 < 8 else %1
    %4: f32 = add %2, %3
    %5: bool = lt %2, %3
    %6: f32 = select %5, %2, %3
    %7: i64 = expression i1
    $0: f32 = max of %4 from %1
    $1: f32 = argmin of %6 at %7 from %1
    store t3[i1] = %4
  }
  sweep for i2 < 8 {
    %8: f32 = load t3[i2]
    %9: i64 = position $1
    %10: f32 = value $0
    %11: i8 = cast %8
    store y0[i0, i2] = %10
  }
}
)";

LoopGraph row() {
  auto graph = parse_loops(kRow, "row");
  if (!graph) ADD_FAILURE() << graph.error().message;
  return graph ? *std::move(graph) : LoopGraph();
}

// Returns the error of the row with `from` replaced by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kRow;
  const size_t place = text.find(from);
  if (place == std::string::npos) return "there is no " + from;
  text.replace(place, from.size(), to);
  auto graph = parse_loops(text, "row");
  if (!graph) return graph.error().message;
  auto result = verify(*graph);
  return result ? "verifies" : result.error().message;
}

// Returns the error of a changed row, for what no text says.
template <typename Change>
std::string error_after(Change change) {
  LoopGraph graph = row();
  change(graph, graph.nests[0]);
  auto result = verify(graph);
  return result ? "verifies" : result.error().message;
}

TEST(LoopVerifyTest, ARowVerifies) {
  auto result = verify(row());
  EXPECT_TRUE(result.ok()) << result.error().message;
}

TEST(LoopVerifyTest, Sizes) {
  EXPECT_EQ(error_with("dim 0 in", "dim 1 in"), "symbol n0: dim 1 of the operands is 8");
  EXPECT_EQ(error_with("dim 0 in", "dim 5 in"), "symbol n0: the operands have no dim 5");
  EXPECT_EQ(error_with("in [1, 64]", "in [-1, 64]"), "symbol n0: it may be -1");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.symbols[0].nominal = 0; }),
            "symbol n0: its nominal value is 0");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.expressions.symbol(0).low = 65; }),
            "symbol n0: it has no value");
}

TEST(LoopVerifyTest, Symbols) {
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.symbols.pop_back(); }),
            "there are 4 symbols, 5 of them in expressions");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.symbols[1].index = 1; }),
            "symbol i0: it is no axis 1 of nest 0");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.symbols[2].index = 99; }),
            "symbol v0: there is no %99 in nest 0");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.symbols[2].index = 1; }),
            "symbol v0: %1 of nest 0 is no i64");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) {
              graph.expressions.add_symbol({"again"});
              graph.symbols.push_back(graph.symbols[2]);
            }),
            "symbol again: %0 of nest 0 has two symbols");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.axes.push_back(nest.axes[0]); }),
            "nest 0: axis 3 has a symbol of something else");
}

TEST(LoopVerifyTest, Buffers) {
  EXPECT_EQ(error_with("x2: i64[n0]", "x2: string[n0]"), "buffer 2: its elements are string");
  EXPECT_EQ(error_with("x2: i64[n0]", "x2: i64[n0] local"), "verifies");
  EXPECT_EQ(error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] local"),
            "buffer 2: an operand after row-local buffers");
  EXPECT_EQ(error_with("x2: i64[n0]", "x2: i64[n0] capacity [64, 1]"),
            "buffer 2: capacity of 2 dims, 1 dims");
  EXPECT_EQ(error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] stored [0]"),
            "buffer 1: dim 1 is not stored");
  EXPECT_EQ(error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] stored [0, 1, 1 mod 4]"),
            "buffer 1: stored axes of dim 1 overlap or leave gaps");
  EXPECT_EQ(error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] stored [0, 1 by 8, 1 mod 4]"),
            "buffer 1: stored axes of dim 1 overlap or leave gaps");
  EXPECT_EQ(
      error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] stored [1 by 4, 0, 1 by 2 mod 2, 1 mod 2]"),
      "verifies");
  EXPECT_EQ(error_with("x1: f16[n0, 8]", "x1: f16[n0, 8] stored [0, 1, 2]"),
            "buffer 1: a stored axis of dim 2");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest& nest) {
              graph.buffers[1].dims[1] = graph.expressions.symbol_expression(nest.axes[0].symbol);
            }),
            "buffer 1: i0 has symbols that are no sizes");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.buffers[1].dims[1] = 9999; }),
            "buffer 1: there is no expression 9999");
  EXPECT_EQ(error_after([](LoopGraph& graph, Nest&) { graph.buffers[3].is_written = false; }),
            "buffer 3: it is row-local and never written");
}

TEST(LoopVerifyTest, Extents) {
  EXPECT_EQ(error_with("t3: f32[8]", "t3: f32[-8]"), "buffer 3: a dim of -8");
  EXPECT_EQ(error_with("nominal 4", "nominal 65"), "symbol n0: its nominal value is 65");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ", 1";
  EXPECT_EQ(error_with("t3: f32[8]", "t3: f32[" + ones + "]"),
            "buffer 3: 65 dims, 64 are the limit");
}

TEST(LoopVerifyTest, KnownIndices) {
  EXPECT_EQ(error_with("load x1[i0, i1]\n", "load x1[i0, i1 + 1]\n"),
            "nest 0: sweep 1: %2: index i1 + 1 is from 1 to 8, the dim is 8");
  EXPECT_EQ(error_with("store t3[i1]", "store t3[i1 - 1]"),
            "nest 0: sweep 1: store 0: index i1 - 1 is from -1 to 6, the dim is 8");
  EXPECT_EQ(error_with("load x1[i0, i1]\n", "load x1[i0, v0 + 1]\n"), "verifies");
  EXPECT_EQ(error_with("sweep for i2 < 8", "sweep for i2 < 9"),
            "nest 0: sweep 2: %8: index i2 is from 0 to 8, the dim is 8");
}

TEST(LoopVerifyTest, Axes) {
  EXPECT_EQ(error_with("for i1 < 8", "for i1 < i0"),
            "nest 0: axis 1: i0 has symbols that are no sizes");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.outer = 4; }),
            "nest 0: 4 of 3 axes are outer ones");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.sweeps[1].axes = {2}; }),
            "nest 0: sweep 1: its axes are not the next ones of the nest");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.sweeps[2].axes.push_back(3); }),
            "nest 0: sweep 2: it has more axes than the nest");
}

TEST(LoopVerifyTest, Scopes) {
  EXPECT_EQ(error_with("load t3[i2]", "load t3[i1]"),
            "nest 0: sweep 2: %8: i1 has symbols that are not known here");
  EXPECT_EQ(error_with("load x1[i0, i1]", "load x1[i0, v0]"), "verifies");
  EXPECT_EQ(error_with("%3: f32 = load x1[i0, i1 + 1] if 0 <= i1 + 1 < 8 else %1",
                       "%3: f32 = load x1[i0, i1 + 1] if 0 <= i1 + 1 < 8 else %4"),
            "nest 0: sweep 1: %3: %4 is not known here");
  EXPECT_EQ(error_with("cast %8", "cast %4"), "nest 0: sweep 2: %11: %4 is not known here");
  EXPECT_EQ(error_with("cast %8", "cast %1"), "verifies");
  EXPECT_EQ(error_with("add %2, %3", "add %2, %99"), "nest 0: sweep 1: %4: there is no %99");
  EXPECT_EQ(error_with("store y0[i0, i2] = %10", "store y0[i0, i2] = %4"),
            "nest 0: sweep 2: store 0: %4 is not known here");
}

TEST(LoopVerifyTest, Order) {
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.sweeps[0].instructions.pop_back(); }),
            "nest 0: sweep 1: its instructions are not the next ones of the nest");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.sweeps[2].instructions.pop_back(); }),
            "nest 0: an axis, instruction or accumulator is in no sweep");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.sweeps[1].accumulators = {1, 0}; }),
            "nest 0: sweep 1: its accumulators are not the next ones of the nest");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.accumulators[1].sweep = 2; }),
            "nest 0: sweep 1: $1: it says that it is of sweep 2");
}

TEST(LoopVerifyTest, Instructions) {
  const std::string at4 = "nest 0: sweep 1: %4: ", at6 = "nest 0: sweep 1: %6: ";
  EXPECT_EQ(error_with("%2: f32 = load", "%2: f64 = load"),
            "nest 0: sweep 1: %2: it is f64, elements are f32");
  EXPECT_EQ(error_with("load x1[i0, i1]", "load x1[i0]"),
            "nest 0: sweep 1: %2: an index of 1 numbers for 2 dims");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f32 = add %2, %0"), at4 + "%0 is i64, not f32");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f64 = add %2, %3"), at4 + "it is f64, not f32");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f32 = and %2, %3"), at4 + "and of f32");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f16 = cast %2"), at4 + "its dtype is f16");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: i64 = bitcast %2"), at4 + "bits of f32 as i64");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f32 = test 0 <= i1 < 8"),
            at4 + "it is f32, not bool");
  EXPECT_EQ(error_with("%4: f32 = add %2, %3", "%4: f32 = expression i1"),
            at4 + "it is f32, not i64");
  EXPECT_EQ(error_with("select %5", "select %2"), at6 + "%2 is f32, not bool");
  EXPECT_EQ(error_with("%5: bool = lt", "%5: f32 = lt"),
            "nest 0: sweep 1: %5: it is f32, not bool");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.instructions[1].bits = 1ull << 32; }),
            "nest 0: sweep 0: %1: 0x100000000 has more than 32 bits");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.instructions[1].index = 0; }),
            "nest 0: sweep 0: %1: it has fields of another kind of instruction");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.instructions[2].operands[0] = 1; }),
            "nest 0: sweep 1: %2: it has no guards, but another value");
  EXPECT_EQ(error_after([](LoopGraph&, Nest& nest) { nest.instructions[2].access.buffer = 9; }),
            "nest 0: sweep 1: %2: there is no buffer 9");
}

TEST(LoopVerifyTest, Accumulators) {
  EXPECT_EQ(error_with("value $0", "value $2"), "nest 0: sweep 2: %10: there is no $2");
  EXPECT_EQ(error_with("position $1", "position $0"), "nest 0: sweep 2: %9: $0 has no position");
  EXPECT_EQ(error_with("%1: f32 = constant inf", "%1: f32 = value $0"),
            "nest 0: sweep 0: %1: $0 is of a later sweep");
  EXPECT_EQ(error_with("%10: f32 = value", "%10: f64 = value"),
            "nest 0: sweep 2: %10: it is f64, not f32");
  EXPECT_EQ(error_with("max of %4 from %1", "max of %0 from %1"),
            "nest 0: sweep 1: $0: %0 is i64, not f32");
  EXPECT_EQ(error_with("max of %4 from %1", "max of %4 from %2"),
            "nest 0: sweep 1: $0: it begins with %2, which its sweep computes");
  EXPECT_EQ(error_with("$0: f32 = max of %4 from %1", "$0: bool = max of %5 from %5"),
            "nest 0: sweep 1: $0: it begins with %5, which its sweep computes");
  EXPECT_EQ(error_with("max of %4 from %1", "max of %4 at %7 from %1"),
            "nest 0: sweep 1: $0: max has no position");
  EXPECT_EQ(error_with("at %7 from", "at %2 from"), "nest 0: sweep 1: $1: %2 is f32, not i64");
  EXPECT_EQ(error_with("argmin of %6 at %7", "argmin of %6"),
            "nest 0: sweep 1: $1: there is no %-1");
  EXPECT_EQ(error_with("argmin of", "argmax of"),
            "nest 0: sweep 1: $1: argmax does not begin with the smallest value");
  EXPECT_EQ(error_with("constant inf", "constant 0"),
            "nest 0: sweep 1: $1: argmin does not begin with the largest value");
  EXPECT_EQ(
      error_with("expression i1\n", "expression i1 + i0\n"),
      "nest 0: sweep 1: $1: the position of argmin is not the index of the sweep's only axis");
}

TEST(LoopVerifyTest, Stores) {
  EXPECT_EQ(error_with("store y0[i0, i2] = %10", "store x1[i0, i2] = %10"),
            "nest 0: sweep 2: store 0: buffer 1 is only read");
  EXPECT_EQ(error_with("store y0[i0, i2] = %10", "store y0[i0, i2] = %11"),
            "nest 0: sweep 2: store 0: %11 is i8, not f32");
  EXPECT_EQ(error_with("store y0[i0, i2] = %10", "store y0[i0, i2] = %10 if 0 <= i1 < 2"),
            "nest 0: sweep 2: store 0: i1 has symbols that are not known here");
}

}  // namespace
}  // namespace sluice::loop
