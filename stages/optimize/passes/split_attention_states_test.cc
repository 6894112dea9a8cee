#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

// The only query sees all keys, so that no number of keys is needed.
TEST(SplitAttentionStates, OneQuery) {
  expect_rewrite(split_attention_states,
                 R"(symbol P = dim(@main, %pk, 2) in [0, *]
graph @main(%q: f32[1, 4, 1, 8], %k: f32[1, 2, 1, 8], %v: f32[1, 2, 1, 6], %pk: f32[1, 2, P, 8], %pv: f32[1, 2, P, 6]) -> (%y, %ak, %av) {
  %y: f32[1, 4, 1, 6], %ak: f32[1, 2, P + 1, 8], %av: f32[1, 2, P + 1, 6] = Attention(%q, %k, %v, _, %pk, %pv) {is_causal = 1, scale = 0.5}
}
)",
                 R"(symbol P = dim(@main, %pk, 2)
graph @main(%q: f32[1, 4, 1, 8], %k: f32[1, 2, 1, 8], %v: f32[1, 2, 1, 6], %pk: f32[1, 2, P, 8], %pv: f32[1, 2, P, 6]) -> (%y, %ak, %av) {
  %ak: f32[1, 2, P + 1, 8] = Concat(%pk, %k) {axis = 2}
  %av: f32[1, 2, P + 1, 6] = Concat(%pv, %v) {axis = 2}
  %y: f32[1, 4, 1, 6] = Attention(%q, %ak, %av) {scale = 0.5}
}
)");
}

TEST(SplitAttentionStates, OpenSizes) {
  expect_rewrite(split_attention_states,
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
symbol P = dim(@main, %pk, 2) in [0, *]
graph @main(%q: f32[N, S, 32], %k: f32[N, S, 16], %v: f32[N, S, 16], %pk: f32[N, 2, P, 8], %pv: f32[N, 2, P, 8]) -> (%y, %ak, %av) {
  %y: f32[N, S, 32], %ak: f32[N, 2, P + S, 8], %av: f32[N, 2, P + S, 8] = Attention(%q, %k, %v, _, %pk, %pv) {is_causal = 1, kv_num_heads = 2, q_num_heads = 4}
}
)",
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
symbol P = dim(@main, %pk, 2)
graph @main(%q: f32[N, S, 32], %k: f32[N, S, 16], %v: f32[N, S, 16], %pk: f32[N, 2, P, 8], %pv: f32[N, 2, P, 8]) -> (%y, %ak, %av) {
  %0 = constant i64[4] [0, 0, 2, 8]
  %1 = constant i64[4] [0, 0, 2, 8]
  %2: f32[N, S, 2, 8] = Reshape(%k, %0)
  %3: f32[N, 2, S, 8] = Transpose(%2) {perm = [0, 2, 1, 3]}
  %ak: f32[N, 2, S + P, 8] = Concat(%pk, %3) {axis = 2}
  %4: f32[N, S, 2, 8] = Reshape(%v, %1)
  %5: f32[N, 2, S, 8] = Transpose(%4) {perm = [0, 2, 1, 3]}
  %av: f32[N, 2, S + P, 8] = Concat(%pv, %5) {axis = 2}
  %6: i64[1] = Shape(%pk) {end = 3, start = 2}
  %7: i32[1] = Cast(%6) {to = 6}
  %8: i64[1] = Shape(%q) {end = 2, start = 1}
  %9: i32[1] = Cast(%8) {to = 6}
  %10: i32[1] = Add(%7, %9)
  %11: i64[1] = Cast(%10) {to = 7}
  %12: i64[1] = Shape(%q) {end = 1, start = 0}
  %13: i64[N] = Expand(%11, %12)
  %y: f32[N, S, 32] = Attention(%q, %ak, %av, _, _, _, %13) {is_causal = 1, kv_num_heads = 2, q_num_heads = 4}
}
)");
}

// A causal node with a past says where its queries begin.
TEST(SplitAttentionStates, FixedSizes) {
  expect_rewrite(
      split_attention_states,
      R"(graph @main(%q: f32[2, 6, 4, 8], %k: f32[2, 3, 5, 8], %v: f32[2, 3, 5, 7], %pk: f32[2, 3, 3, 8], %pv: f32[2, 3, 3, 7]) -> (%y, %ak) {
  %y: f32[2, 6, 4, 7], %ak: f32[2, 3, 8, 8], %av: f32[2, 3, 8, 7] = Attention(%q, %k, %v, _, %pk, %pv) {is_causal = 1, softcap = 2.0}
}
)",
      R"(graph @main(%q: f32[2, 6, 4, 8], %k: f32[2, 3, 5, 8], %v: f32[2, 3, 5, 7], %pk: f32[2, 3, 3, 8], %pv: f32[2, 3, 3, 7]) -> (%y, %ak) {
  %0 = constant i64[2] [7, 7]
  %ak: f32[2, 3, 8, 8] = Concat(%pk, %k) {axis = 2}
  %1: f32[2, 3, 8, 7] = Concat(%pv, %v) {axis = 2}
  %y: f32[2, 6, 4, 7] = Attention(%q, %ak, %1, _, _, _, %0) {is_causal = 1, softcap = 2.0}
}
)");
}

// Keys that do not grow are a result as they are.
TEST(SplitAttentionStates, WithoutAPast) {
  expect_rewrite(
      split_attention_states,
      R"(graph @main(%q: f32[2, 4, 16], %k: f32[2, 5, 16], %v: f32[2, 5, 16]) -> (%y, %ak) {
  %y: f32[2, 4, 16], %ak: f32[2, 2, 5, 8] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 2}
}
)",
      R"(graph @main(%q: f32[2, 4, 16], %k: f32[2, 5, 16], %v: f32[2, 5, 16]) -> (%y, %ak) {
  %0 = constant i64[4] [2, 5, 2, 8]
  %1: f32[2, 5, 2, 8] = Reshape(%k, %0)
  %ak: f32[2, 2, 5, 8] = Transpose(%1) {perm = [0, 2, 1, 3]}
  %y: f32[2, 4, 16] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 2}
}
)");
}

// Elements of f64 and scores as a result have no kernel.
TEST(SplitAttentionStates, StaysWithoutAKernel) {
  expect_unchanged(split_attention_states,
                   R"(graph @main(%q: f64[1, 1, 1, 8], %p: f64[1, 1, 3, 8]) -> (%y, %ak, %av) {
  %y: f64[1, 1, 1, 8], %ak: f64[1, 1, 4, 8], %av: f64[1, 1, 4, 8] = Attention(%q, %q, %q, _, %p, %p)
}
)");
}

}  // namespace
}  // namespace sluice
