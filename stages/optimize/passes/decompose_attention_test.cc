#include <gtest/gtest.h>

#include "stages/optimize/passes/attention_parts.h"
#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

// Decomposes nodes for which there is a kernel, too.
Result<bool> decompose_all(Graph& root, const Options&) {
  return on_every_node(root, [](Editor& editor, Node& node) {
    const auto form = node.op() == Op::kAttention ? read_removable_form(node) : std::nullopt;
    if (form) decompose_attention_node(editor, node, *form);
    return form.has_value();
  });
}

// Only what no kernel computes is decomposed, as scores that are a result.
TEST(DecomposeAttention, StaysWithAKernel) {
  expect_unchanged(
      decompose_attention,
      R"(graph @main(%q: f32[2, 3, 4, 16], %k: f32[2, 3, 6, 16], %v: f32[2, 3, 6, 8]) -> (%y) {
  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v)
}
)");
  expect_unchanged(
      decompose_attention,
      R"(graph @main(%q: f16[2, 3, 4, 16], %k: f16[2, 3, 6, 16], %v: f16[2, 3, 6, 8]) -> (%y) {
  %y: f16[2, 3, 4, 8] = Attention(%q, %k, %v)
}
)");
}

TEST(DecomposeAttention, Plain) {
  expect_rewrite(
      decompose_all,
      R"(graph @main(%q: f32[2, 3, 4, 16], %k: f32[2, 3, 6, 16], %v: f32[2, 3, 6, 8]) -> (%y) {
  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v)
}
)",
      R"(graph @main(%q: f32[2, 3, 4, 16], %k: f32[2, 3, 6, 16], %v: f32[2, 3, 6, 8]) -> (%y) {
  %0 = constant f32[] [0.25]
  %1: f32[2, 3, 16, 6] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %2: f32[2, 3, 4, 6] = MatMul(%q, %1)
  %3: f32[2, 3, 4, 6] = Mul(%2, %0)
  %4: f32[2, 3, 4, 6] = Softmax(%3) {axis = 3}
  %y: f32[2, 3, 4, 8] = MatMul(%4, %v)
}
)");
}

// Open sizes stay what they are; heads that share a key head are rows of one product.
TEST(DecomposeAttention, OpenSizes) {
  expect_rewrite(decompose_all,
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
symbol P = dim(@main, %pk, 2) in [0, *]
graph @main(%q: f32[N, S, 32], %k: f32[N, S, 16], %v: f32[N, S, 16], %pk: f32[N, 2, P, 8], %pv: f32[N, 2, P, 8]) -> (%y, %ak, %av) {
  %y: f32[N, S, 32], %ak: f32[N, 2, P + S, 8], %av: f32[N, 2, P + S, 8] = Attention(%q, %k, %v, _, %pk, %pv) {is_causal = 1, kv_num_heads = 2, q_num_heads = 4, scale = 0.5}
}
)",
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
symbol P = dim(@main, %pk, 2)
graph @main(%q: f32[N, S, 32], %k: f32[N, S, 16], %v: f32[N, S, 16], %pk: f32[N, 2, P, 8], %pv: f32[N, 2, P, 8]) -> (%y, %ak, %av) {
  %0 = constant i64[4] [0, 0, 2, 8]
  %1 = constant i64[4] [0, 0, 2, 8]
  %2 = constant i32[] [1]
  %3 = constant i64[] [0]
  %4 = constant i32[] [1]
  %5 = constant i64[] [0]
  %6 = constant i64[2] [0, 1]
  %7 = constant i64[4] [0, 0, 4, 8]
  %8 = constant i64[4] [0, 2, -1, 8]
  %9 = constant f32[] [0.5]
  %10 = constant i64[4] [0, 4, -1, 0]
  %11 = constant f32[] [-inf]
  %12 = constant i64[4] [0, 2, -1, 0]
  %13 = constant i64[4] [0, 4, -1, 8]
  %14 = constant i64[3] [0, 0, 32]
  %15: f32[N, S, 2, 8] = Reshape(%k, %0)
  %16: f32[N, 2, S, 8] = Transpose(%15) {perm = [0, 2, 1, 3]}
  %ak: f32[N, 2, S + P, 8] = Concat(%pk, %16) {axis = 2}
  %17: f32[N, S, 2, 8] = Reshape(%v, %1)
  %18: f32[N, 2, S, 8] = Transpose(%17) {perm = [0, 2, 1, 3]}
  %av: f32[N, 2, S + P, 8] = Concat(%pv, %18) {axis = 2}
  %19: i64[1] = Shape(%ak) {end = 3, start = 2}
  %20: i32[S + P] = Expand(%2, %19)
  %21: i32[S + P] = CumSum(%20, %3) {exclusive = 1}
  %22: i64[1] = Shape(%q) {end = 2, start = 1}
  %23: i32[S] = Expand(%4, %22)
  %24: i32[S] = CumSum(%23, %5) {exclusive = 1}
  %25: i32[S, 1] = Reshape(%24, %6)
  %26: i64[1] = Shape(%pk) {end = 3, start = 2}
  %27: i32[1] = Cast(%26) {to = 6}
  %28: i32[S, 1] = Add(%25, %27)
  %29: bool[S, S + P] = LessOrEqual(%21, %28)
  %30: f32[N, S, 4, 8] = Reshape(%q, %7)
  %31: f32[N, 4, S, 8] = Transpose(%30) {perm = [0, 2, 1, 3]}
  %32: f32[N, 2, 2*S, 8] = Reshape(%31, %8)
  %33: f32[N, 2, 8, S + P] = Transpose(%ak) {perm = [0, 1, 3, 2]}
  %34: f32[N, 2, 2*S, S + P] = MatMul(%32, %33)
  %35: f32[N, 2, 2*S, S + P] = Mul(%34, %9)
  %36: f32[N, 4, S, S + P] = Reshape(%35, %10)
  %37: f32[N, 4, S, S + P] = Where(%29, %36, %11)
  %38: f32[N, 4, S, S + P] = Softmax(%37) {axis = 3}
  %39: f32[N, 2, 2*S, S + P] = Reshape(%38, %12)
  %40: f32[N, 2, 2*S, 8] = MatMul(%39, %av)
  %41: f32[N, 4, S, 8] = Reshape(%40, %13)
  %42: f32[N, S, 4, 8] = Transpose(%41) {perm = [0, 2, 1, 3]}
  %y: f32[N, S, 32] = Reshape(%42, %14)
}
)");
}

// A graph around one node that reads %q, %k, %v and more inputs.
std::string around(const std::string& inputs, const std::string& nodes, const std::string& type) {
  return "graph @main(" + inputs + ") -> (%y) {\n" + nodes + "  %y: " + type + "\n}\n";
}

constexpr char kFour[] = "%q: f32[2, 6, 4, 8], %k: f32[2, 3, 5, 8], %v: f32[2, 3, 5, 7]";

TEST(DecomposeAttention, Scores) {
  for (const char* attributes : {"", " {scale = 0.1}", " {softcap = 0.5}", " {is_causal = 1}",
                                 " {is_causal = 1, scale = 2.0, softcap = 3.0}"}) {
    SCOPED_TRACE(attributes);
    expect_decomposed(
        decompose_all,
        around(kFour, "", "f32[2, 6, 4, 7] = Attention(%q, %k, %v)" + std::string(attributes)),
        Op::kAttention);
  }
}

// Masks of every rank, broadcast along any dim, also shorter than the keys.
TEST(DecomposeAttention, MaskOfFloats) {
  for (const char* mask :
       {"f32[5]", "f32[1]", "f32[4, 5]", "f32[1, 5]", "f32[4, 1]", "f32[6, 4, 5]",
        "f32[2, 1, 4, 5]", "f32[2, 6, 1, 5]", "f32[4, 3]", "f32[2, 1, 1, 2]"}) {
    SCOPED_TRACE(mask);
    expect_decomposed(decompose_all,
                      around(kFour + std::string(", %m: ") + mask, "",
                             "f32[2, 6, 4, 7] = Attention(%q, %k, %v, %m) {is_causal = 1}"),
                      Op::kAttention);
  }
}

// The mask hides about half of the keys, and in one of 16 cases all keys of a row.
TEST(DecomposeAttention, MaskOfBools) {
  for (const char* mask : {"[5]", "[4, 5]", "[2, 1, 4, 5]", "[2, 6, 4, 5]", "[2, 6, 4, 4]"}) {
    for (const char* attributes : {"", " {is_causal = 1}"}) {
      SCOPED_TRACE(std::string(mask) + attributes);
      expect_decomposed(
          decompose_all,
          around(
              kFour + std::string(", %m: f32") + mask,
              "  %0 = constant f32[] [0.0]\n  %b: bool" + std::string(mask) + " = Less(%m, %0)\n",
              "f32[2, 6, 4, 7] = Attention(%q, %k, %v, %b)" + std::string(attributes)),
          Op::kAttention);
    }
  }
}

TEST(DecomposeAttention, RowsWithoutKeysGiveZeros) {
  const std::string inputs = "%q: f32[1, 1, 2, 8], %k: f32[1, 1, 3, 8], %v: f32[1, 1, 3, 7]";
  for (const char* mask : {"bool[2, 3] [true, false, true, false, false, false]",
                           "f32[2, 3] [0.0, -inf, 1.0, -inf, -inf, -inf]"}) {
    SCOPED_TRACE(mask);
    expect_decomposed(decompose_all,
                      around(inputs, "  %m = constant " + std::string(mask) + "\n",
                             "f32[1, 1, 2, 7] = Attention(%q, %k, %v, %m)"),
                      Op::kAttention);
  }
}

TEST(DecomposeAttention, Padding) {
  for (const char* lengths : {"i64[2] [5, 3]", "i64[2] [0, 1]", "i64[2] [-7, 9000000000]"}) {
    for (const char* attributes : {"", " {is_causal = 1}"}) {
      SCOPED_TRACE(std::string(lengths) + attributes);
      expect_decomposed(
          decompose_all,
          around(kFour, "  %l = constant " + std::string(lengths) + "\n",
                 "f32[2, 6, 4, 7] = Attention(%q, %k, %v, _, _, _, %l)" + std::string(attributes)),
          Op::kAttention);
    }
  }
}

// Scores are given after each of the four steps, with finite masks: the difference of infinities is
// no number.
TEST(DecomposeAttention, ScoresAreResults) {
  for (const char* mode : {"0", "1", "2", "3"}) {
    SCOPED_TRACE(mode);
    expect_decomposed(decompose_attention,
                      "graph @main(" + std::string(kFour) +
                          ", %m: f32[4, 5]) -> (%y, %s) {\n  %y: f32[2, 6, 4, 7], %0: f32[2, 3, 5, "
                          "8], %1: f32[2, 3, 5, 7], %s: f32[2, 6, 4, 5] "
                          "= Attention(%q, %k, %v, %m) {qk_matmul_output_mode = " +
                          mode + ", softcap = 2.0}\n}\n",
                      Op::kAttention);
  }
}

}  // namespace
}  // namespace sluice
