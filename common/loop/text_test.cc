#include "common/loop/text.h"

#include <gtest/gtest.h>

#include "common/loop/verify.h"

namespace sluice::loop {
namespace {

std::string printed(const std::string& text) {
  auto graph = parse_loops(text, "t");
  if (!graph) return graph.error().message;
  if (auto result = verify(*graph); !result) return result.error().message;
  return print_loops(*graph);
}

std::string parse_error_of(const std::string& line) {
  const std::string text = "loops 1\nsize n0 = dim 0 in [0, 9] nominal 4\n" + line;
  auto graph = parse_loops(text, "t");
  if (graph) return "parsed";
  EXPECT_EQ(graph.error().code, ErrorCode::kBadText);
  return graph.error().message;
}

TEST(LoopTextTest, EverythingIsPrintedAsItIsParsed) {
  const std::string text = R"(loops 1
size n0 = dim 0 in [1, 64] multiple 4 nominal 8
size n3 = dim 3 in [0, *] nominal 128
buffer y0: f32[n0, 768] written
buffer x1: f16[2*n0 + 1, n3] capacity [2*n0 + 1, n3 + 8] stored [1 by 16, 0, 1 mod 16]
buffer x2: i64[]
buffer t3: f64[768] local
nest for i0 < n0, i1 < floordiv(n3, 2) {
  sweep {
    %0: i64 = load x2[]
    %1: i64 = expression n3
    %2: i64 as v0 in [0, *] = index %0, %1
    %3: f32 = constant -0
    %4: f32 = constant 0x7fc00001
    %5: f64 = constant 0.1
    %6: f32 = constant -inf
    %7: i8 = constant -128
    %8: u64 = constant 18446744073709551615
    %9: bool = constant true
  }
  sweep for i2 < 768, i3 < n0 {
    %10: f32 = load x1[i0 + i3, v0] if 0 <= v0 < n3 and 0 <= i2 - 1 < 768 else %3
    %11: bool = test 0 <= i0 < 5
    %12: f32 = select %11, %10, %4
    %13: i64 = expression i2 + 768*i3
    %14: f32 = value $1
    %15: f32 = add %14, %10
    %16: f64 = cast %15
    $0: f32 = sum of %10 from %3
    $1: f32 = carry of %15 from %6
    store t3[i2] = %16 if 0 <= i3 < 1
  }
  sweep for i4 < 768 {
    %17: i64 = expression i4
    %18: f32 = value $0
    $2: f32 = argmax of %18 at %17 from %6 last
    store y0[i0, i4] = %18
  }
  sweep {
    %19: i64 = position $2
  }
}
nest {
}
)";
  EXPECT_EQ(printed(text), text);
}

// Whatever names and order a writer chose, the same loops have the same text.
TEST(LoopTextTest, NamesDoNotCount) {
  EXPECT_EQ(printed(R"(loops 1
size batch = dim 0 in [1, 64] nominal 4 # a comment
buffer out: f32[batch, 8] written
buffer in: f32[batch, 8]
nest for row < batch { sweep for column < 8 {
  %0: f32 = load in[row, 7 + -1*column]
  store out[row, column] = %0 } }
)"),
            R"(loops 1
size n0 = dim 0 in [1, 64] nominal 4
buffer y0: f32[n0, 8] written
buffer x1: f32[n0, 8]
nest for i0 < n0 {
  sweep for i1 < 8 {
    %0: f32 = load x1[i0, -1*i1 + 7]
    store y0[i0, i1] = %0
  }
}
)");
}

// A symbol that was made after an axis is printed before it: sums are in the order of the text.
TEST(LoopTextTest, SymbolsAreInTheOrderOfTheText) {
  LoopGraph graph = *parse_loops(R"(loops 1
buffer y0: f32[8, 99] written
buffer x1: i64[8]
nest for i0 < 8 {
  sweep {
    %0: i64 = load x1[i0]
  }
  sweep for i1 < 9 {
    %1: f32 = constant 0
    store y0[i0, i1] = %1
  }
}
)",
                                 "t");
  Symbol late;
  late.name = "late";
  late.high = 90;
  const SymbolId id = graph.expressions.add_symbol(late);
  graph.symbols.push_back({SymbolRole::kValue, 0, 0});
  ExpressionId& index = graph.nests[0].sweeps[1].stores[0].access.index[1];
  index = graph.expressions.add(index, graph.expressions.symbol_expression(id));
  EXPECT_EQ(graph.expressions.text(index), "i1 + late");
  const std::string text = print_loops(graph);
  EXPECT_NE(text.find("store y0[i0, v0 + i1] = %1"), std::string::npos) << text;
  EXPECT_EQ(printed(text), text);
}

TEST(LoopTextTest, ExtentsMayBeNegative) {
  const std::string text = R"(loops 1
nest for i0 < -9223372036854775808 {
}
)";
  EXPECT_EQ(printed(text), text);
}

TEST(LoopTextTest, Errors) {
  EXPECT_EQ(parse_loops("loops 2", "t").error().message,
            "t:1:7: the version of the text is 2, it must be in [1, 1]");
  EXPECT_EQ(parse_error_of("size n0 = dim 1 in [0, 9] nominal 4"),
            "t:3:6: there is another symbol 'n0'");
  EXPECT_EQ(parse_error_of("size n1 = dim 1 in [9, 0] nominal 4"),
            "t:3:24: the highest value is 0, it must be in [9, 9223372036854775807]");
  EXPECT_EQ(parse_error_of("buffer x: f32[m]"), "t:3:15: there is no symbol 'm' above");
  EXPECT_EQ(parse_error_of("nest { sweep { %1: f32 = constant 0 } }"),
            "t:3:16: the next number of an instruction is 0");
  EXPECT_EQ(parse_error_of("nest { sweep { %0: i8 = constant 128 } }"), "t:3:34: '128' is no i8");
  EXPECT_EQ(parse_error_of("nest { sweep { %0: f32 = plus %1, %2 } }"),
            "t:3:26: there is no operation 'plus'");
  EXPECT_EQ(parse_error_of("nest { sweep { store y[] = %0 } }"),
            "t:3:22: there is no buffer 'y' above");
  EXPECT_EQ(parse_error_of("nest { sweep { $0: f32 = mean of %0 from %0 } }"),
            "t:3:26: expected how values are combined (sum, max, …), found 'mean'");
  EXPECT_EQ(parse_error_of("nest { sweep { %99999999999: f32 = constant 0 } }"),
            "t:3:16: '99999999999' is no number of an instruction");
  EXPECT_EQ(parse_error_of("nest for i0 < n0 {"), "t:3:19: expected 'sweep', found the end");
}

}  // namespace
}  // namespace sluice::loop
