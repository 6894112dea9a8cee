#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "stages/optimize/testing/attention_graphs.h"

namespace sluice {
namespace {

TEST(FuseAttention, ScaleOfScores) {
  expect_attention(constant("c", "0.25"), "  %t: f32[2, 3, 4, 4] = Mul(%s, %c)\n", "");
  expect_attention(constant("c", "0.25"), "  %t: f32[2, 3, 4, 4] = Mul(%c, %s)\n", "");
  expect_attention(constant("c", "4"), "  %t: f32[2, 3, 4, 4] = Div(%s, %c)\n", "");
  expect_attention(constant("c", "0.125"), "  %t: f32[2, 3, 4, 4] = Mul(%s, %c)\n",
                   " {scale = 0.125}");
}

TEST(FuseAttention, NoScale) {
  expect_rewrite(
      fuse_attention, graph_of(kInputs, std::string(kProduct) + kUnscaled),
      graph_of(kInputs, "  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v) {scale = 1.0}\n"));
}

TEST(FuseAttention, ScaleOfQueriesAndKeys) {
  const std::string remainder = R"(  %s: f32[2, 3, 4, 4] = MatMul(%a, %b)
  %w: f32[2, 3, 4, 4] = Softmax(%s) {axis = 3}
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)";
  const std::string after = "  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v)\n";
  const std::string root = constant("c", "0.5");
  for (const char* nodes : {R"(  %a: f32[2, 3, 4, 16] = Mul(%q, %c)
  %kt: f32[2, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %b: f32[2, 3, 16, 4] = Mul(%kt, %c)
)",
                            R"(  %a: f32[2, 3, 4, 16] = Mul(%q, %c)
  %kc: f32[2, 3, 4, 16] = Mul(%c, %k)
  %b: f32[2, 3, 16, 4] = Transpose(%kc) {perm = [0, 1, 3, 2]}
)"})
    expect_rewrite(fuse_attention, graph_of(kInputs, root + nodes + remainder),
                   graph_of(kInputs, after));
}

TEST(FuseAttention, Softcap) {
  expect_attention(constant("c", "0.5") + constant("d", "3"),
                   R"(  %1: f32[2, 3, 4, 4] = Mul(%s, %c)
  %2: f32[2, 3, 4, 4] = Div(%1, %d)
  %3: f32[2, 3, 4, 4] = Tanh(%2)
  %t: f32[2, 3, 4, 4] = Mul(%3, %d)
)",
                   " {scale = 0.5, softcap = 3.0}");
}

// Exporters compute the softmax of a model of 16 bits in f32.
TEST(FuseAttention, Halves) {
  for (const auto& [name, number] : {std::pair("f16", "10"), std::pair("bf16", "16")}) {
    const auto typed = [half = std::string(name)](const std::string& text) {
      return std::regex_replace(text, std::regex("half"), half);
    };
    const std::string inputs = typed(
        "%q: half[2, 3, 4, 16], %k: half[2, 3, 4, 16], %v: half[2, 3, 4, 8], %m: half[2, 1, 1, 4]");
    const std::string scores = typed(R"(  %c = constant half[] [0.125]
  %kt: half[2, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: half[2, 3, 4, 4] = MatMul(%q, %kt)
  %1: half[2, 3, 4, 4] = Mul(%s, %c)
  %t: half[2, 3, 4, 4] = Add(%1, %m)
)");
    const std::string after =
        graph_of(inputs, typed("  %y: half[2, 3, 4, 8] = Attention(%q, %k, %v, %m) {hidden_score = "
                               "-inf, scale = 0.125}\n"));
    expect_rewrite(fuse_attention,
                   graph_of(inputs, scores + typed(R"(  %w: half[2, 3, 4, 4] = Softmax(%t)
  %y: half[2, 3, 4, 8] = MatMul(%w, %v)
)")),
                   after);
    expect_rewrite(fuse_attention,
                   graph_of(inputs, scores + typed(R"(  %2: f32[2, 3, 4, 4] = Cast(%t) {to = 1}
  %3: f32[2, 3, 4, 4] = Softmax(%2)
  %w: half[2, 3, 4, 4] = Cast(%3) {to = )" + std::string(number) +
                                                   R"(}
  %y: half[2, 3, 4, 8] = MatMul(%w, %v)
)")),
                   after);
  }
}

TEST(FuseAttention, ZerosForRowsOfNaN) {
  expect_rewrite(fuse_attention,
                 graph_of(kInputs + std::string(kConditionInput),
                          constant("z", "-1") + constant("h", "-inf") + constant("0", "0") +
                              kProduct + kCondition + R"(  %t: f32[2, 3, 4, 4] = Where(%b, %s, %h)
  %p: f32[2, 3, 4, 4] = Softmax(%t) {axis = -1}
  %n: bool[2, 3, 4, 4] = IsNaN(%p)
  %w: f32[2, 3, 4, 4] = Where(%n, %0, %p)
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)"),
                 graph_of(kInputs + std::string(kConditionInput),
                          constant("z", "-1") + kCondition +
                              "  %y: f32[2, 3, 4, 8] = Attention(%q, %k, %v, %b) {scale = 1.0}\n"));
}

// BERT: heads are split off and joined by Reshape and Transpose.
TEST(FuseAttention, FlatOperands) {
  const std::string inputs =
      "%q: f32[2, 5, 12], %k: f32[2, 7, 12], %v: f32[2, 7, 12], %m: f32[2, 1, 1, 7]";
  expect_rewrite(
      fuse_attention,
      graph_of(inputs, R"(  %split = constant i64[4] [0, 0, 3, 4]
  %join = constant i64[3] [0, 0, 12]
  %c = constant f32[] [2]
)" + split_heads("q", "2", "5") +
                           split_heads("k", "2", "7", true) + split_heads("v", "2", "7") +
                           R"(  %s: f32[2, 3, 5, 7] = MatMul(%qh, %kh)
  %1: f32[2, 3, 5, 7] = Div(%s, %c)
  %t: f32[2, 3, 5, 7] = Add(%1, %m)
  %w: f32[2, 3, 5, 7] = Softmax(%t) {axis = -1}
  %yh: f32[2, 3, 5, 4] = MatMul(%w, %vh)
  %y4: f32[2, 5, 3, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %y: f32[2, 5, 12] = Reshape(%y4, %join)
)"),
      graph_of(
          inputs,
          "  %y: f32[2, 5, 12] = Attention(%q, %k, %v, %m) {hidden_score = -inf, kv_num_heads = 3, "
          "q_num_heads = 3}\n"));
}

// The same where rows of all sequences are one axis, and the scale is between view and Transpose.
TEST(FuseAttention, FlatOperandsOfOtherShapes) {
  expect_fused("%q: f32[10, 12], %k: f32[14, 12], %v: f32[14, 12]",
               R"(  %a = constant i64[4] [2, 5, 3, 4]
  %b = constant i64[4] [2, 7, 3, 4]
  %join = constant i64[2] [10, 12]
  %c = constant f32[] [0.3]
  %q4: f32[2, 5, 3, 4] = Reshape(%q, %a)
  %qc: f32[2, 5, 3, 4] = Mul(%q4, %c)
  %qh: f32[2, 3, 5, 4] = Transpose(%qc) {perm = [0, 2, 1, 3]}
  %k4: f32[2, 7, 3, 4] = Reshape(%k, %b)
  %kh: f32[2, 3, 4, 7] = Transpose(%k4) {perm = [0, 2, 3, 1]}
  %v4: f32[2, 7, 3, 4] = Reshape(%v, %b)
  %vh: f32[2, 3, 7, 4] = Transpose(%v4) {perm = [0, 2, 1, 3]}
  %s: f32[2, 3, 5, 7] = MatMul(%qh, %kh)
  %w: f32[2, 3, 5, 7] = Softmax(%s) {axis = -1}
  %yh: f32[2, 3, 5, 4] = MatMul(%w, %vh)
  %y4: f32[2, 5, 3, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %y: f32[10, 12] = Reshape(%y4, %join)
)");
}

// ViT: one product computes queries, keys and values.
TEST(FuseAttention, PartsOfOneProduct) {
  const std::string inputs = "%x: f32[2, 5, 36]";
  expect_rewrite(fuse_attention, graph_of(inputs, R"(  %split = constant i64[5] [2, 5, 3, 3, 4]
  %join = constant i64[3] [2, 5, 12]
  %c = constant f32[] [0.5]
  %0 = constant i64[] [0]
  %1 = constant i64[] [1]
  %2 = constant i64[] [2]
  %x5: f32[2, 5, 3, 3, 4] = Reshape(%x, %split)
  %xt: f32[3, 2, 3, 5, 4] = Transpose(%x5) {perm = [2, 0, 3, 1, 4]}
  %q: f32[2, 3, 5, 4] = Gather(%xt, %0) {axis = 0}
  %k: f32[2, 3, 5, 4] = Gather(%xt, %1) {axis = 0}
  %v: f32[2, 3, 5, 4] = Gather(%xt, %2) {axis = 0}
  %qc: f32[2, 3, 5, 4] = Mul(%q, %c)
  %kt: f32[2, 3, 4, 5] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, 3, 5, 5] = MatMul(%qc, %kt)
  %w: f32[2, 3, 5, 5] = Softmax(%s)
  %yh: f32[2, 3, 5, 4] = MatMul(%w, %v)
  %y4: f32[2, 5, 3, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %y: f32[2, 5, 12] = Reshape(%y4, %join)
)"),
                 graph_of(inputs, R"(  %split = constant i64[5] [2, 5, 3, 3, 4]
  %0 = constant i64[] [0]
  %1 = constant i64[3] [2, 5, 12]
  %2 = constant i64[] [1]
  %3 = constant i64[3] [2, 5, 12]
  %4 = constant i64[] [2]
  %5 = constant i64[3] [2, 5, 12]
  %x5: f32[2, 5, 3, 3, 4] = Reshape(%x, %split)
  %6: f32[2, 5, 3, 4] = Gather(%x5, %0) {axis = 2}
  %7: f32[2, 5, 12] = Reshape(%6, %1)
  %8: f32[2, 5, 3, 4] = Gather(%x5, %2) {axis = 2}
  %9: f32[2, 5, 12] = Reshape(%8, %3)
  %10: f32[2, 5, 3, 4] = Gather(%x5, %4) {axis = 2}
  %11: f32[2, 5, 12] = Reshape(%10, %5)
  %y: f32[2, 5, 12] = Attention(%7, %9, %11) {kv_num_heads = 3, q_num_heads = 3}
)"));
}

// Llama: each head of keys and values is repeated for two heads of queries.
TEST(FuseAttention, RepeatedHeads) {
  const std::string inputs = "%q: f32[2, 6, 5, 4], %k: f32[2, 3, 7, 4], %v: f32[2, 3, 7, 4]";
  for (const char* repeat : {"= Expand(%k5, %wide)", "= Tile(%k5, %times)"})
    expect_rewrite(fuse_attention,
                   graph_of(inputs, R"(  %axis = constant i64[1] [2]
  %wide = constant i64[5] [2, 3, 2, 7, 4]
  %times = constant i64[5] [1, 1, 2, 1, 1]
  %heads = constant i64[4] [2, 6, 7, 4]
  %k5: f32[2, 3, 1, 7, 4] = Unsqueeze(%k, %axis)
  %ke: f32[2, 3, 2, 7, 4] )" + std::string(repeat) +
                                        R"(
  %kr: f32[2, 6, 7, 4] = Reshape(%ke, %heads)
  %v5: f32[2, 3, 1, 7, 4] = Unsqueeze(%v, %axis)
  %ve: f32[2, 3, 2, 7, 4] = Expand(%v5, %wide)
  %vr: f32[2, 6, 7, 4] = Reshape(%ve, %heads)
  %kt: f32[2, 6, 4, 7] = Transpose(%kr) {perm = [0, 1, 3, 2]}
  %s: f32[2, 6, 5, 7] = MatMul(%q, %kt)
  %w: f32[2, 6, 5, 7] = Softmax(%s)
  %y: f32[2, 6, 5, 4] = MatMul(%w, %vr)
)"),
                   graph_of(inputs,
                            "  %y: f32[2, 6, 5, 4] = Attention(%q, %k, %v) {scale = 1.0}\n"));
}

TEST(FuseAttention, RepeatedHeadsByLength) {
  expect_fused("%q: f32[2, 5, 24], %k: f32[2, 7, 3, 4], %v: f32[2, 7, 3, 4]",
               R"(  %axis = constant i64[1] [3]
  %wide = constant i64[5] [2, 7, 3, 2, 4]
  %heads = constant i64[4] [2, 7, 6, 4]
  %split = constant i64[4] [2, 5, 6, 4]
  %join = constant i64[3] [2, 5, 24]
  %q4: f32[2, 5, 6, 4] = Reshape(%q, %split)
  %qh: f32[2, 6, 5, 4] = Transpose(%q4) {perm = [0, 2, 1, 3]}
  %k5: f32[2, 7, 3, 1, 4] = Unsqueeze(%k, %axis)
  %ke: f32[2, 7, 3, 2, 4] = Expand(%k5, %wide)
  %kr: f32[2, 7, 6, 4] = Reshape(%ke, %heads)
  %v5: f32[2, 7, 3, 1, 4] = Unsqueeze(%v, %axis)
  %ve: f32[2, 7, 3, 2, 4] = Expand(%v5, %wide)
  %vr: f32[2, 7, 6, 4] = Reshape(%ve, %heads)
  %kt: f32[2, 6, 4, 7] = Transpose(%kr) {perm = [0, 2, 3, 1]}
  %vh: f32[2, 6, 7, 4] = Transpose(%vr) {perm = [0, 2, 1, 3]}
  %s: f32[2, 6, 5, 7] = MatMul(%qh, %kt)
  %w: f32[2, 6, 5, 7] = Softmax(%s)
  %yh: f32[2, 6, 5, 4] = MatMul(%w, %vh)
  %y4: f32[2, 5, 6, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %y: f32[2, 5, 24] = Reshape(%y4, %join)
)");
}

// A product repeats a single head by itself; heads repeated as a whole are no groups.
TEST(FuseAttention, OneHeadOfKeys) {
  const std::string inputs = "%q: f32[2, 6, 5, 4], %k: f32[2, 1, 7, 4], %v: f32[2, 1, 7, 4]";
  expect_rewrite(fuse_attention,
                 graph_of(inputs, R"(  %kt: f32[2, 1, 4, 7] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, 6, 5, 7] = MatMul(%q, %kt)
  %w: f32[2, 6, 5, 7] = Softmax(%s)
  %y: f32[2, 6, 5, 4] = MatMul(%w, %v)
)"),
                 graph_of(inputs, "  %y: f32[2, 6, 5, 4] = Attention(%q, %k, %v) {scale = 1.0}\n"));
  expect_fused("%q: f32[2, 6, 5, 4], %k: f32[2, 3, 7, 4], %v: f32[2, 3, 7, 4]",
               R"(  %times = constant i64[4] [1, 2, 1, 1]
  %kr: f32[2, 6, 7, 4] = Tile(%k, %times)
  %vr: f32[2, 6, 7, 4] = Tile(%v, %times)
  %kt: f32[2, 6, 4, 7] = Transpose(%kr) {perm = [0, 1, 3, 2]}
  %s: f32[2, 6, 5, 7] = MatMul(%q, %kt)
  %w: f32[2, 6, 5, 7] = Softmax(%s)
  %y: f32[2, 6, 5, 4] = MatMul(%w, %vr)
)");
}

// Whisper and BART: batch and heads are one axis in the products, two where the mask is added.
TEST(FuseAttention, BatchAndHeadsInOneAxis) {
  const std::string inputs =
      "%q: f32[2, 5, 12], %k: f32[2, 7, 12], %v: f32[2, 7, 12], %m: f32[2, 1, 5, 7]";
  expect_rewrite(
      fuse_attention, graph_of(inputs, R"(  %split = constant i64[4] [0, 0, 3, 4]
  %join = constant i64[3] [0, 0, 12]
  %a = constant i64[3] [6, 5, 4]
  %b = constant i64[3] [6, 7, 4]
  %c = constant i64[4] [2, 3, 5, 7]
  %d = constant i64[3] [6, 5, 7]
  %e = constant i64[4] [2, 3, 5, 4]
)" + split_heads("q", "2", "5") + R"(  %q3: f32[6, 5, 4] = Reshape(%qh, %a)
)" + split_heads("k", "2", "7") + R"(  %k3: f32[6, 7, 4] = Reshape(%kh, %b)
)" + split_heads("v", "2", "7") + R"(  %v3: f32[6, 7, 4] = Reshape(%vh, %b)
  %kt: f32[6, 4, 7] = Transpose(%k3) {perm = [0, 2, 1]}
  %s: f32[6, 5, 7] = MatMul(%q3, %kt)
  %s4: f32[2, 3, 5, 7] = Reshape(%s, %c)
  %t4: f32[2, 3, 5, 7] = Add(%s4, %m)
  %t: f32[6, 5, 7] = Reshape(%t4, %d)
  %w: f32[6, 5, 7] = Softmax(%t) {axis = -1}
  %y3: f32[6, 5, 4] = MatMul(%w, %v3)
  %yh: f32[2, 3, 5, 4] = Reshape(%y3, %e)
  %y4: f32[2, 5, 3, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %y: f32[2, 5, 12] = Reshape(%y4, %join)
)"),
      graph_of(
          inputs,
          "  %y: f32[2, 5, 12] = Attention(%q, %k, %v, %m) {hidden_score = -inf, kv_num_heads = 3, "
          "q_num_heads = 3, scale = 1.0}\n"));
}

// A product of rank 3 is a batch of one head.
TEST(FuseAttention, OneHead) {
  const std::string inputs =
      "%q: f32[6, 5, 4], %k: f32[6, 7, 4], %v: f32[6, 7, 3], %m: f32[6, 5, 7]";
  expect_rewrite(fuse_attention,
                 graph_of(inputs, R"(  %kt: f32[6, 4, 7] = Transpose(%k) {perm = [0, 2, 1]}
  %s: f32[6, 5, 7] = MatMul(%q, %kt)
  %t: f32[6, 5, 7] = Add(%s, %m)
  %w: f32[6, 5, 7] = Softmax(%t)
  %y: f32[6, 5, 3] = MatMul(%w, %v)
)"),
                 graph_of(inputs, R"(  %0 = constant i64[1] [1]
  %1: f32[6, 1, 5, 7] = Unsqueeze(%m, %0)
  %y: f32[6, 5, 3] = Attention(%q, %k, %v, %1) {hidden_score = -inf, kv_num_heads = 1, q_num_heads = 1, scale = 1.0}
)"));
}

// GPT-2: the past is before keys and values, which are results, too.
TEST(FuseAttention, Past) {
  const std::string inputs =
      "%q: f32[1, 3, 2, 4], %k: f32[1, 3, 2, 4], %v: f32[1, 3, 2, 4], %pk: f32[1, 3, 5, 4], %pv: "
      "f32[1, 3, 5, 4], %m: f32[2, 7]";
  const std::string past = R"(  %ak: f32[1, 3, 7, 4] = Concat(%pk, %k) {axis = 2}
  %av: f32[1, 3, 7, 4] = Concat(%pv, %v) {axis = 2}
)";
  expect_rewrite(
      fuse_attention,
      graph_of(inputs, past + R"(  %kt: f32[1, 3, 4, 7] = Transpose(%ak) {perm = [0, 1, 3, 2]}
  %s: f32[1, 3, 2, 7] = MatMul(%q, %kt)
  %t: f32[1, 3, 2, 7] = Add(%s, %m)
  %w: f32[1, 3, 2, 7] = Softmax(%t)
  %y: f32[1, 3, 2, 4] = MatMul(%w, %av)
)",
               "%y, %ak, %av"),
      graph_of(inputs,
               past + "  %y: f32[1, 3, 2, 4] = Attention(%q, %ak, %av, %m) {hidden_score = -inf, "
                      "scale = 1.0}\n",
               "%y, %ak, %av"));
}

TEST(FuseAttention, SizesKnownWhenRunning) {
  expect_rewrite(fuse_attention,
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
graph @main(%q: f32[N, S, 12], %k: f32[N, S, 12], %v: f32[N, S, 12]) -> (%y, %n) {
  %split = constant i64[4] [0, 0, 3, 4]
  %join = constant i64[3] [0, 0, 12]
)" + split_heads("q", "N", "S") +
                     split_heads("k", "N", "S", true) + split_heads("v", "N", "S") +
                     R"(  %s: f32[N, 3, S, S] = MatMul(%qh, %kh)
  %w: f32[N, 3, S, S] = Softmax(%s)
  %yh: f32[N, 3, S, 4] = MatMul(%w, %vh)
  %y4: f32[N, S, 3, 4] = Transpose(%yh) {perm = [0, 2, 1, 3]}
  %n: i64[4] = Shape(%y4)
  %y: f32[N, S, 12] = Reshape(%y4, %join)
}
)",
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
graph @main(%q: f32[N, S, 12], %k: f32[N, S, 12], %v: f32[N, S, 12]) -> (%y, %n) {
  %0 = constant i64[4] [0, 0, 3, 4]
  %y: f32[N, S, 12] = Attention(%q, %k, %v) {kv_num_heads = 3, q_num_heads = 3, scale = 1.0}
  %y4: f32[N, S, 3, 4] = Reshape(%y, %0)
  %n: i64[4] = Shape(%y4)
}
)");
}

TEST(FuseAttention, WhatIsReadElsewhereStays) {
  const std::string nodes = std::string(kProduct) + kUnscaled;
  expect_kept(kInputs, nodes, "%y, %w");
  expect_kept(kInputs, nodes, "%y, %s");
  expect_kept(kInputs, nodes + "  %z: f32[2, 3, 4, 4] = Neg(%w)\n", "%y, %z");
}

TEST(FuseAttention, AnotherSoftmaxStays) {
  expect_kept(kInputs, std::string(kProduct) + "  %w: f32[2, 3, 4, 4] = Softmax(%s) {axis = 2}\n" +
                           "  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)\n");
  expect_kept(kInputs, std::string(kProduct) + "  %w: f32[2, 3, 4, 4] = LogSoftmax(%s)\n" +
                           "  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)\n");
}

TEST(FuseAttention, NodesBetweenStay) {
  expect_kept(kInputs, around("", "  %t: f32[2, 3, 4, 4] = Relu(%s)\n"));
  expect_kept(kInputs + std::string(", %f: f32[2, 1, 4, 4]"),
              around("", "  %t: f32[2, 3, 4, 4] = Mul(%s, %f)\n"));
  expect_kept(kInputs, std::string("  %on = constant bool[] [true]\n") + kProduct +
                           R"(  %w: f32[2, 3, 4, 4] = Softmax(%s)
  %d: f32[2, 3, 4, 4], %mask: bool[2, 3, 4, 4] = Dropout(%w, _, %on)
  %y: f32[2, 3, 4, 8] = MatMul(%d, %v)
)");
  expect_kept(kInputs, constant("c", "0") + std::string(kProduct) +
                           R"(  %t: f32[2, 3, 4, 4] = Mul(%s, %c)
)" + kWeighted);
}

// The other operand of the weighted sum, and keys that are not transposed.
TEST(FuseAttention, OtherProductsStay) {
  expect_kept("%q: f32[2, 3, 4, 16], %k: f32[2, 3, 16, 4], %v: f32[2, 3, 4, 8]",
              R"(  %s: f32[2, 3, 4, 4] = MatMul(%q, %k)
  %w: f32[2, 3, 4, 4] = Softmax(%s)
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)");
  expect_kept("%q: f32[2, 3, 4, 16], %k: f32[2, 3, 4, 16], %v: f32[2, 3, 8, 4]",
              std::string(kProduct) + R"(  %w: f32[2, 3, 4, 4] = Softmax(%s)
  %y: f32[2, 3, 8, 4] = MatMul(%v, %w)
)");
}

TEST(FuseAttention, OtherSizesStay) {
  // Batches that broadcast, and a mask that makes the scores larger.
  expect_kept("%q: f32[2, 3, 4, 16], %k: f32[1, 3, 4, 16], %v: f32[2, 3, 4, 8]",
              R"(  %kt: f32[1, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, 3, 4, 4] = MatMul(%q, %kt)
  %w: f32[2, 3, 4, 4] = Softmax(%s)
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)");
  expect_kept(
      "%q: f32[1, 3, 4, 16], %k: f32[1, 3, 4, 16], %v: f32[2, 3, 4, 8], %m: f32[2, 3, 4, 4]",
      R"(  %kt: f32[1, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[1, 3, 4, 4] = MatMul(%q, %kt)
  %t: f32[2, 3, 4, 4] = Add(%s, %m)
  %w: f32[2, 3, 4, 4] = Softmax(%t)
  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)
)");
  expect_kept("%q: f32[4, 16], %k: f32[4, 16], %v: f32[4, 8]",
              R"(  %kt: f32[16, 4] = Transpose(%k) {perm = [1, 0]}
  %s: f32[4, 4] = MatMul(%q, %kt)
  %w: f32[4, 4] = Softmax(%s)
  %y: f32[4, 8] = MatMul(%w, %v)
)");
}

// Heads and their size must be numbers, and lengths the same for sure.
TEST(FuseAttention, UnknownSizesStay) {
  for (const char* sizes : {"?, 3, 4, 16", "2, 3, ?, 16"}) {
    std::string types = sizes;
    SCOPED_TRACE(types);
    expect_unchanged(fuse_attention,
                     "graph @main(%q: f32[2, 3, 4, 16], %k: f32[" + types +
                         "], %v: f32[2, 3, 4, 8]) -> (%y) {\n"
                         "  %kt: f32[?, 3, 16, ?] = Transpose(%k) {perm = [0, 1, 3, 2]}\n"
                         "  %s: f32[2, 3, 4, ?] = MatMul(%q, %kt)\n"
                         "  %w: f32[2, 3, 4, ?] = Softmax(%s)\n"
                         "  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)\n}\n");
  }
  expect_unchanged(fuse_attention, R"(symbol H = dim(@main, %q, 1) in [1, *]
graph @main(%q: f32[2, H, 4, 16], %k: f32[2, H, 4, 16], %v: f32[2, H, 4, 8]) -> (%y) {
  %kt: f32[2, H, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, H, 4, 4] = MatMul(%q, %kt)
  %w: f32[2, H, 4, 4] = Softmax(%s)
  %y: f32[2, H, 4, 8] = MatMul(%w, %v)
}
)");
}

TEST(FuseAttention, WideFloatsAndIntegersStay) {
  expect_unchanged(
      fuse_attention,
      R"(graph @main(%q: f64[2, 3, 4, 16], %k: f64[2, 3, 4, 16], %v: f64[2, 3, 4, 8]) -> (%y) {
  %kt: f64[2, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f64[2, 3, 4, 4] = MatMul(%q, %kt)
  %w: f64[2, 3, 4, 4] = Softmax(%s)
  %y: f64[2, 3, 4, 8] = MatMul(%w, %v)
}
)");
}

TEST(FuseAttention, AnnotatedNodesStay) {
  for (const char* placement :
       {" placement {keep}", " placement {engine = host_cpu}", " placement {stream_label = \"a\"}"})
    expect_kept(kInputs, std::string(kProduct) + "  %w: f32[2, 3, 4, 4] = Softmax(%s)" + placement +
                             "\n  %y: f32[2, 3, 4, 8] = MatMul(%w, %v)\n");
}

}  // namespace
}  // namespace sluice
