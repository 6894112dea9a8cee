#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

TEST(RotaryEmbeddingLoweringTest, RotaryEmbedding) {
  const LoweringCase test = near_to(4);
  for (const std::string interleaved : {"0", "1"}) {
    const auto rotate = [&](const std::string& operands, const std::string& more = "") {
      return "%y = RotaryEmbedding(" + operands + ") {interleaved = " + interleaved + more + "}";
    };
    expect_same({"%x: D[2, 3, M, 8], %c: D[2, M, 4], %s: D[2, M, 4]", "", rotate("%x, %c, %s")},
                {"f32", "f64", "f16", "bf16"}, kTwoSizes, test);
    expect_same({"%x: f32[2, M, N, 8], %c: f32[2, N, 2], %s: f32[2, N, 2]", "",
                 rotate("%x, %c, %s", ", rotary_embedding_dim = 4")},
                {"f32"}, kTwoSizes, test);
    expect_same({"%x: f32[N, M, 24], %c: f32[N, M, 4], %s: f32[N, M, 4]", "",
                 rotate("%x, %c, %s", ", num_heads = 3")},
                {"f32"}, kTwoSizes, test);
    expect_same({"%x: f32[N, M, 24], %c: f32[N, M, 2], %s: f32[N, M, 2]", "",
                 rotate("%x, %c, %s", ", num_heads = 3, rotary_embedding_dim = 4")},
                {"f32"}, kTwoSizes, test);
    LoweringCase placed = test;
    placed.ranges["p"] = {0, 5};
    expect_same({"%x: D[2, 3, M, 8], %c: D[6, 4], %s: D[6, 4], %p: i64[2, M]", "",
                 rotate("%x, %c, %s, %p")},
                {"f32", "f16"}, kTwoSizes, placed);
    expect_same({"%x: f32[N, M, 8], %c: f32[6, 3], %s: f32[6, 3], %p: i64[N, M]", "",
                 rotate("%x, %c, %s, %p", ", num_heads = 1, rotary_embedding_dim = 6")},
                {"f32"}, kTwoSizes, placed);
    placed.ranges["p"] = {-3, -1};
    expect_same({"%x: f32[2, 3, M, 8], %c: f32[6, 4], %s: f32[6, 4], %p: i64[2, M]", "",
                 rotate("%x, %c, %s, %p")},
                {"f32"}, kTwoSizes, placed);
    for (const std::string dim : {"0", "4"}) {
      const std::string inputs = "%x: f32[N, M, 24], %c: f32[N, M, " +
                                 std::string(dim == "0" ? "4" : "2") + "], %s: f32[N, M, " +
                                 (dim == "0" ? "4" : "2") + "]";
      LoweringCase body = test;
      body.sizes = kTwoSizes[0];
      body.graphs =
          "graph @main(" + inputs +
          ") -> (%r) {\n%r: f32[M, N, 24] = Fused(%x, %c, %s) {body = @body}\n}\ngraph @body(" +
          inputs + ") -> (%r) fused {\n" +
          rotate("%x, %c, %s", ", num_heads = 3, rotary_embedding_dim = " + dim) +
          "\n%r = Transpose(%y) {perm = [1, 0, 2]}\n}\n";
      EXPECT_EQ(lowering_difference(body), "");
    }
  }
}

}  // namespace
}  // namespace sluice::loop
