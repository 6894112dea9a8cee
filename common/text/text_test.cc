#include "common/text/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "common/graphfile/graphfile.h"
#include "common/symbolic/testing/random_expression.h"
#include "common/text/elements.h"

namespace sluice {
namespace {

// Checks a canonical text: parse and print is the identity, also through a file.
void expect_canonical(const std::string& text) {
  auto module = parse_module(text, "t");
  ASSERT_TRUE(module.ok()) << error_text(module.error());
  EXPECT_EQ(print_module(*module), text);
  const auto bytes = graph_bytes(*module);
  ASSERT_TRUE(bytes.ok()) << error_text(bytes.error());
  EXPECT_EQ(print_module(*module), text) << "after compaction";
  auto back = read_graph(std::make_shared<const std::vector<std::byte>>(*bytes), "t");
  ASSERT_TRUE(back.ok()) << error_text(back.error());
  EXPECT_EQ(print_module(*back), text) << "through a file";
}

std::string error_of(const std::string& text) {
  auto module = parse_module(text, "t");
  if (module) return "parsed";
  EXPECT_EQ(module.error().code, ErrorCode::kBadText);
  return module.error().message;
}

TEST(Text, Small) {
  expect_canonical(R"(sluice 1 typed
graph @main(%x: f32[2, 3]) -> (%y) {
  %k = constant i64[2] [1, -1]
  %y: f32[1, 6] = Reshape(%x, %k)
}
)");
}

TEST(Text, AttributesOfEveryKind) {
  expect_canonical(
      R"(sluice 1 partitioned after subgraph-optimize stopped after 2 of "a pass", "b", "b"
graph @main(%x: f32[2]) -> (%0) {
  %0: f32[2] = Fused(%x, _) {a = 1, b = -1.0, body = @"main body", c = "a\n\"\x00", d = [1, 2], e = [0.5, 1e+20, nan, -inf], f = ["x", ""], g = ints [], h = floats [], i = strings [], j = type seq(f32[2]), k = constant f32[2] [1, 0.1], l = graphs [], m = 0x7fc00001}
  #1: Fail() after %0
  %1, %2: i64[] = TopK(_, %0) after %0, #1 placement {engine = "aicore+vector", stream_label = "left", stage_level = 0, parallel_group = 3, precision = bf16, _no_task, keep, no_fold} name "top" from "a", "b"
}
graph @"main body"(%x: f32[2]) -> (%x) fused engine aicore shapes symbolic {
}
)");
}

TEST(Text, TypesAndStorages) {
  expect_canonical(R"(sluice 1 lowered
symbol N = dim(@main, %x, 0) in [1, 64] multiple 8
symbol "a b" = value(@main, %x, 1) in [-5, *]
symbol K = result(@main, %y, 1)
symbol M = dim(_, _, 0)
kernel k_1 = u8[3] [1, 2, 3] isa "avx2" blocks 8 scratch 64 multiply_adds 99
kernel k_1~1 = u8[4000] sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef entry "k_1" isa "" blocks 1 scratch 0 multiply_adds 0
graph @main(%x: f32[N, "a b" + 2*floordiv(N, 3) + 1], %u: f16[*], %q: seq(optional(map(i64, string[?])))) -> (%y) {
  %y: f32[K, max(N, M)] storage [1 by 4, 0, 1 mod 4] [1, N, 4] bytes 64*N = Relu(%x) placement {kernel = k_1}
  %z: ? storage dense [] bytes 4 = Relu(%u) placement {kernel = k_1~1}
}
)");
}

// Printed dims parse to the same dims, in whatever order a module mentions them.
TEST(Text, RandomDims) {
  const std::string head = R"(sluice 1 typed
symbol A = dim(@main, %x, 0)
symbol B = dim(@main, %x, 1) in [1, 40] multiple 4
symbol C = dim(@main, %x, 2) in [1, *] multiple 6
graph @main(%x: f32[A, B, C]) -> (%x) {
)";
  auto module = parse_module(head + "}\n", "t");
  ASSERT_TRUE(module.ok()) << error_text(module.error());
  std::mt19937 random(1);
  std::vector<std::string> dims;
  while (dims.size() < 2000) {
    const ExpressionId id = random_expression(module->expressions, random, 5);
    if (!module->expressions.as_constant(id))
      dims.push_back(print_dim(*module, Dim::expression(id)));
  }
  std::shuffle(dims.begin(), dims.end(), random);
  std::string text = head;
  for (size_t i = 0; i < dims.size(); ++i)
    text += fmt::format("  %v{}: f32[{}] = Relu(%x)\n", i, dims[i]);
  expect_canonical(text + "}\n");
}

TEST(Text, SumsSubtract) {
  const std::string head =
      "sluice 1 typed\nsymbol H = dim(@main, %x, 0) in [9, *]\nsymbol W = dim(@main, %x, 1) in [1, "
      "*]\n"
      "graph @main(%x: f32[H, W]) -> (%y) {\n";
  expect_canonical(head +
                   "  %y: f32[H - 2, H - W, 2*H - 3*W - 1, -1*min(H, W - 1) + 9] = Relu(%x)\n}\n");
  auto module = parse_module(head + "  %y: f32[H + -2, H + -1*W] = Relu(%x)\n}\n", "t");
  ASSERT_TRUE(module.ok()) << error_text(module.error());
  EXPECT_NE(print_module(*module).find("f32[H - 2, H - W]"), std::string::npos)
      << print_module(*module);
}

// The longest sum that the compiler makes is accepted, a longer one is not.
TEST(Text, LongDims) {
  const auto sum_of = [](int64_t terms) {
    std::string symbols, sum;
    for (int64_t i = 0; i < terms; ++i) {
      symbols += fmt::format("symbol s{} = dim(@main, %x, {})\n", i, i);
      sum += fmt::format("{}s{}", i > 0 ? " + " : "", i);
    }
    return fmt::format(
        "sluice 1 typed\n{}graph @main(%x: f32[?]) -> (%y) {{\n  %y: f32[{}] = Relu(%x)\n}}\n",
        symbols, sum);
  };
  expect_canonical(sum_of(ExpressionTable::kMaxTerms));
  EXPECT_NE(error_of(sum_of(ExpressionTable::kMaxTerms + 1)).find("the expression is too long"),
            std::string::npos);
}

TEST(Text, ConstantsOfEveryKind) {
  expect_canonical(R"(sluice 1 typed
constant $0 = f32[64, 9] sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
constant $1 = f32[64, 9] expression @f($0, $0)
constant $2 = f32[64, 9] parameter 1
graph @main(%p: f32[2, 2] parameter 0, %c: f32[2] = constant f32[2] [1, 2]) -> (%a, %b) {
  %a = constant f32[64, 9] expression @f($1, $2)
  %b = constant string[3] ["", "x", "\xe4"]
  %s = constant f32[64] splat 0.02
  %i4 = constant i4[3] [-8, 7, 1]
  %i2 = constant u2[5] [0, 1, 2, 3, 1]
  %f8 = constant f8e4m3fn[2] [0x38, 0xff]
  %h = constant f16[4] [1, -0.099975586, inf, 0x7e00]
  %bf = constant bf16[2] [3.140625, 9.1835e-41]
  %d = constant f64[2] [0.1, 0x7ff8000000000000]
  %t = constant bool[2] [true, false]
  %z = constant c64[1] [(1, -2)]
  %e = constant i64[0] []
  %big = constant u64[1] [18446744073709551615]
  %sz = constant string[2] sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef size 5000
  %y = Concat(%s, %i4, %i2, %f8, %h, %bf, %d, %t, %z, %e, %big, %sz)
}
graph @f(%0: f32[64, 9], %1: f32[64, 9]) -> (%2) expression {
  %2: f32[64, 9] = Mul(%0, %1)
}
)");
}

TEST(Text, RepeatedNamesAreMadeUnique) {
  Module module;
  Graph& main = module.add_graph("g");
  module.add_graph("g");
  Value* x = &main.add_input(0, "x");
  for (const char* name : {"x", "7", "x~1", ""}) {
    Node& node = main.add_node(Op::kRelu, {x});
    node.output().set_name(name);
    x = &node.output();
  }
  main.add_output(*x);
  const std::string text = print_module(module);
  EXPECT_EQ(text, R"(sluice 1 typed
graph @g(%x) -> (%0) {
  %x~1 = Relu(%x)
  %"7" = Relu(%x~1)
  %x~1~1 = Relu(%"7")
  %0 = Relu(%x~1~1)
}
graph @g~1() -> () {
}
)");
  expect_canonical(text);
}

TEST(Text, HeaderFactsSurvive) {
  const std::string text =
      "sluice 1 typed after optimize\nversion \"0.1.0\"\nproducer \"p\"\noption \"a\" = "
      "\"b\"\nmade_from sha256:" +
      std::string(64, 'a') + "\ngraph @m() -> () {\n}\n";
  auto module = parse_module(text, "t");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(print_module(*module, {.header = true}), text);
}

// What other facts imply is not printed: bytes of %a, what holds b0 and b2.
TEST(Text, FactsOfASchedule) {
  expect_canonical(R"(sluice 1 scheduled after build
symbol n = dim(@m, %x, 0) in [1, 50]
graph @m(%x: f32[n, 8] at b0) -> (%y) part shapes symbolic {
  stream "left"
  stream "right"
  memory "hbm" sub_memories [3200]
  memory "p2p" sub_memories [1600]
  arena bytes 4800
  scratch bytes 512
  buffer b0 = input 0 bytes 32*n live "left" [0, 0]
  buffer b1 = arena "hbm" bytes 64*n offset 0 live "left" [0, 0], "right" [1, 1] held [0, 2]
  buffer b2 = arena "p2p" bytes 32*n offset 3200 live "right" [1, 2]
  buffer b3 = output 0 bytes 64*n live "left" [3, 3]
  %a: f32[n, 8] at b2 = Neg(%x) placement {engine = host_cpu, stream = "left"}
  %b: f32[n, 8] storage dense [n, 16] bytes 64*n - 32 at b1 + 32 of f32[n, 16] = Sin(%a) placement {engine = host_cpu, stream = "right", can_reused_for_concat_optimize = false}
  %c: f32[n, 8] storage dense [50, 8] bytes 1600 at b2 bytes 32*n = Cos(%b) placement {engine = host_cpu, stream = "right", can_reused_for_concat_optimize = false}
  %y: f32[n, 16] at b3 bytes ? = Concat(%b, %c) {axis = 1} placement {engine = rts, complete_after = 2, _no_task, _nopadding_continuous_input, _output_reuse_input, _reuse_input_on_dim_index = 0}
}
)");
}

TEST(Text, ErrorsSayWhere) {
  EXPECT_EQ(error_of(""), "t:1:1: there is no graph");
  const std::string head = "sluice 1 typed\ngraph @m(%x: f32[2]) -> (%x) {\n";
  EXPECT_EQ(error_of(head + "  %y = Nope(%x)\n}\n"),
            "t:3:8: expected an op of this release, found 'Nope'");
  EXPECT_EQ(error_of(head + "  %y = Relu(%z)\n}\n"), "t:3:13: %z is not defined above in @m");
  EXPECT_EQ(error_of(head + "  %x = Relu(%x)\n}\n"), "t:3:3: %x is defined twice");
  EXPECT_EQ(error_of(head + "  %y: f32[Q] = Relu(%x)\n}\n"),
            "t:3:11: there is no symbol 'Q' above");
  EXPECT_EQ(error_of(head + "  %y = constant i8[1] [200]\n}\n"), "t:3:24: '200' is no i8");
  EXPECT_EQ(error_of(head + "  %y = constant i8[2] [1]\n}\n"),
            "t:3:23: 1 elements, the type has 2");
  EXPECT_EQ(error_of(head + "  %y = Relu(%x) {a = @n}\n}\n"), "t:3:22: there is no graph @n");
  EXPECT_EQ(error_of(head + "  %y = Relu(%x) {a = @m}\n}\n"), "t:3:22: @m contains itself");
  EXPECT_EQ(error_of(head + "  %y = Relu(%x\n}\n"), "t:4:1: expected ',', found '}'");
  EXPECT_EQ(error_of(head + "  %y = \"abc\n}\n"), "t:3:8: the text has no closing quote");
  EXPECT_EQ(error_of(head + "}\ngraph @b() -> () body {\n}\n"),
            "t:4:1: no node has @b as its body");
  EXPECT_EQ(error_of("sluice 1 typed\nconstant $0 = f32[2] expression @e($0)\ngraph @m() -> () "
                     "{\n}\ngraph @e() -> () expression {\n}\n"),
            "t:2:10: this constant is made from itself");
}

// Any prefix and any single change of a valid text is parsed or rejected.
TEST(Text, DamagedTextNeverCrashes) {
  const std::string text = R"(sluice 1 typed
symbol N = dim(@main, %x, 0) in [1, 64]
constant $0 = f32[4] [1, 2, 3, 4]
graph @main(%x: f32[N, 3*N]) -> (%y) {
  %a = constant f32[4] expression @f($0)
  %y: f32[N] = If(%x, %a) {else = @e, then = @t} after %y placement {keep} from "n"
}
graph @e() -> () body {
}
graph @t() -> () body {
}
graph @f(%0) -> (%0) expression {
}
)";
  for (size_t i = 0; i < text.size(); ++i) {
    (void)parse_module(text.substr(0, i), "t");
    for (const char c : {'(', ']', '%', '"', '0', '-', 'z', '\n', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      (void)parse_module(changed, "t");
    }
  }
  EXPECT_NE(error_of("sluice 1 typed\ngraph @m(%x: " + std::string(100000, '(') + ") -> () {\n}\n"),
            "parsed");
  EXPECT_NE(
      error_of("sluice 1 typed\ngraph @m(%x: f32[" + std::string(100000, '(') + "]) -> () {\n}\n"),
      "parsed");
}

TEST(Text, FloatsReadBackTheSame) {
  for (const float value :
       {0.0f, -0.0f, 1.0f, 0.1f, 1e-45f, 1.17549435e-38f, 3.4028235e38f, -INFINITY}) {
    const auto back = text::parse_float(text::print_float(value));
    ASSERT_TRUE(back.has_value()) << text::print_float(value);
    EXPECT_EQ(std::signbit(*back), std::signbit(value));
    EXPECT_EQ(*back, value);
  }
}

// Every 16-bit float survives printing and parsing.
TEST(Text, HalfFloatsReadBackTheSame) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const std::byte bytes[] = {static_cast<std::byte>(bits & 255),
                                 static_cast<std::byte>(bits >> 8)};
      text::ElementWriter writer(dtype);
      ASSERT_TRUE(writer.add(text::print_element(dtype, bytes, 0)));
      ASSERT_TRUE(std::ranges::equal(writer.take(), bytes)) << bits;
    }
  }
}

TEST(Text, LargeGraph) {
  Module module;
  Graph& main = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {1}));
  Value* last = &main.add_input(type, "x");
  for (int i = 0; i < 100'000; ++i) {
    Node& node = main.add_node(Op::kRelu, {last}, 0);
    last = &node.add_output(type, fmt::format("value_{}", i));
  }
  main.add_output(*last);
  const std::string text = print_module(module);
  auto back = parse_module(text, "t");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(print_module(*back), text);
}

}  // namespace
}  // namespace sluice
