#include <gtest/gtest.h>

#include <string>

#include "stages/optimize/testing/attention_graphs.h"

namespace sluice {
namespace {

TEST(AttentionMask, AddedMasks) {
  for (const char* mask : {"f32[2, 1, 1, 4]", "f32[1, 3, 4, 4]", "f32[4, 4]", "f32[4]",
                           "f32[2, 3, 4, 4]", "f32[3, 1, 4]", "f32[4, 1]"}) {
    for (const char* sum : {"Add(%s, %m)", "Add(%m, %s)"})
      expect_attention("", "  %t: f32[2, 3, 4, 4] = " + std::string(sum) + "\n",
                       " {hidden_score = -inf, scale = 1.0}", "", ", %m: " + std::string(mask),
                       ", %m");
  }
}

// Two masks are one that is added to all heads, or has the size of one of them.
TEST(AttentionMask, SeveralMasks) {
  const std::string nodes = R"(  %a: f32[2, 3, 4, 4] = Add(%s, %m)
  %t: f32[2, 3, 4, 4] = Add(%a, %n)
)";
  expect_attention("", nodes, " {hidden_score = -inf, scale = 1.0}",
                   "  %0: f32[2, 1, 4, 4] = Add(%m, %n)\n", ", %m: f32[2, 1, 1, 4], %n: f32[4, 4]",
                   ", %0");
  expect_attention("", nodes, " {hidden_score = -inf, scale = 1.0}",
                   "  %0: f32[1, 3, 4, 4] = Add(%m, %n)\n", ", %m: f32[1, 3, 4, 4], %n: f32[4]",
                   ", %0");
  expect_kept(std::string(kInputs) + ", %m: f32[2, 1, 1, 4], %n: f32[1, 3, 4, 4]",
              around("", nodes));
}

TEST(AttentionMask, HiddenByInfinityIsAMaskOfBools) {
  const auto expect = [&](const char* threshold, const char* choice, const char* kept,
                          const char* mask) {
    const std::string condition = constant("z", threshold);
    expect_attention(condition + constant("h", "-inf"),
                     std::string(kCondition) + "  %t: f32[2, 3, 4, 4] = " + choice + "\n",
                     " {hidden_score = -inf, scale = 1.0}", condition + kCondition + kept,
                     kConditionInput, mask);
  };
  expect("1", "Where(%b, %s, %h)", "", ", %b");
  expect("-1", "Where(%b, %h, %s)", "  %0: bool[2, 1, 4, 4] = Not(%b)\n", ", %0");
}

// A row that is hidden whole has equal weights, and a lower score stays lower than hidden ones.
TEST(AttentionMask, HiddenByAFiniteNumberKeepsTheNumber) {
  for (const char* number : {"-3.4028235e+38", "-1000000000.0", "-10000.0", "-100.0"}) {
    const std::string condition = constant("z", "1");
    expect_attention(condition + constant("h", number),
                     std::string(kCondition) + "  %t: f32[2, 3, 4, 4] = Where(%b, %s, %h)\n",
                     " {hidden_score = " + std::string(number) + ", scale = 1.0}",
                     condition + kCondition, kConditionInput, ", %b");
  }
}

TEST(AttentionMask, HiddenAndAdded) {
  const std::string constants = constant("z", "-1") + constant("h", "-3.4028235e+38");
  expect_fused(
      kInputs + std::string(kConditionInput) + ", %n: f32[4, 4]",
      around(constants, std::string(kCondition) + "  %1: f32[2, 3, 4, 4] = Add(%s, %n)\n"
                                                  "  %t: f32[2, 3, 4, 4] = Where(%b, %h, %1)\n"));
  expect_fused(
      kInputs + std::string(kConditionInput) + ", %n: f32[4, 4]",
      around(constants, std::string(kCondition) + "  %1: f32[2, 3, 4, 4] = Where(%b, %h, %s)\n"
                                                  "  %t: f32[2, 3, 4, 4] = Add(%1, %n)\n"));
}

// A number that does not absorb scores would give other weights to rows that are hidden whole.
TEST(AttentionMask, HiddenByASmallNumberStaysBesideOtherMasks) {
  for (const char* number : {"-1000000000", "-10000"})
    expect_kept(kInputs + std::string(", %m: f32[2, 1, 4, 4], %n: f32[4, 4]"),
                around(constant("h", number),
                       "  %b: bool[2, 1, 4, 4] = Cast(%m) {to = 9}\n"
                       "  %a: f32[2, 3, 4, 4] = Where(%b, %h, %s)\n"
                       "  %t: f32[2, 3, 4, 4] = Add(%a, %n)\n"));
}

constexpr char kTriangle[] =
    "  %l = constant bool[1, 1, 4, 4] [true, false, false, false, true, true, false, false, true, "
    "true, true, false, true, true, true, true]\n";

TEST(AttentionMask, CausalCondition) {
  for (const char* number : {"-inf", "-3.4028235e+38", "-10000"})
    expect_attention(kTriangle + constant("h", number),
                     "  %t: f32[2, 3, 4, 4] = Where(%l, %s, %h)\n",
                     " {is_causal = 1, scale = 1.0}");
  expect_attention(kTriangle + constant("h", "-inf"),
                   "  %u: bool[1, 1, 4, 4] = Not(%l)\n"
                   "  %t: f32[2, 3, 4, 4] = Where(%u, %h, %s)\n",
                   " {is_causal = 1, scale = 1.0}");
}

TEST(AttentionMask, CausalSum) {
  expect_attention(
      "  %m = constant f32[4, 4] [0, -inf, -inf, -inf, 0, 0, -inf, -inf, 0, 0, 0, -inf, 0, 0, 0, "
      "0]\n",
      "  %t: f32[2, 3, 4, 4] = Add(%s, %m)\n", " {is_causal = 1, scale = 1.0}");
}

TEST(AttentionMask, CausalTriluOfAFilledMatrix) {
  expect_attention(constant("h", "-inf") +
                       "  %n = constant i64[2] [4, 4]\n"
                       "  %1 = constant i64[] [1]\n",
                   "  %f: f32[4, 4] = Expand(%h, %n)\n"
                   "  %u: f32[4, 4] = Trilu(%f, %1)\n"
                   "  %t: f32[2, 3, 4, 4] = Add(%s, %u)\n",
                   " {is_causal = 1, scale = 1.0}");
}

// -inf hides whatever else is added; a finite number does not where a row has no larger score.
TEST(AttentionMask, CausalBesideAMask) {
  const std::string nodes = R"(  %1: f32[2, 3, 4, 4] = Where(%l, %s, %h)
  %t: f32[2, 3, 4, 4] = Add(%1, %m)
)";
  expect_attention(kTriangle + constant("h", "-inf"), nodes,
                   " {hidden_score = -inf, is_causal = 1, scale = 1.0}", "",
                   ", %m: f32[2, 1, 1, 4]", ", %m");
  expect_fused(kInputs + std::string(", %m: f32[2, 1, 1, 4]"),
               around(kTriangle + constant("h", "-3.4028235e+38"), nodes));
}

// The last query sees the last key, so it is not causal in the operator's terms.
TEST(AttentionMask, ATriangleOfOtherSizesIsAMask) {
  const std::string inputs = "%q: f32[2, 3, 2, 16], %k: f32[2, 3, 4, 16], %v: f32[2, 3, 4, 8]";
  expect_rewrite(
      fuse_attention,
      graph_of(inputs,
               R"(  %l = constant bool[1, 1, 2, 4] [true, true, true, false, true, true, true, true]
  %h = constant f32[] [-inf]
  %kt: f32[2, 3, 16, 4] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[2, 3, 2, 4] = MatMul(%q, %kt)
  %t: f32[2, 3, 2, 4] = Where(%l, %s, %h)
  %w: f32[2, 3, 2, 4] = Softmax(%t)
  %y: f32[2, 3, 2, 8] = MatMul(%w, %v)
)"),
      graph_of(inputs,
               R"(  %l = constant bool[1, 1, 2, 4] [true, true, true, false, true, true, true, true]
  %y: f32[2, 3, 2, 8] = Attention(%q, %k, %v, %l) {hidden_score = -inf, scale = 1.0}
)"));
}

// As exported with sizes that are known when running: the first rows and columns of a constant.
TEST(AttentionMask, CausalPartOfATriangle) {
  for (const std::string part : {"S", "min(S, 4)"}) {
    SCOPED_TRACE(part);
    expect_rewrite(fuse_attention,
                   R"(symbol S = dim(@main, %q, 2) in [1, *]
graph @main(%q: f32[1, 3, S, 16], %k: f32[1, 3, S, 16], %v: f32[1, 3, S, 8]) -> (%y) {
)" + std::string(kTriangle) +
                       R"(  %h = constant f32[] [-inf]
  %0 = constant i64[1] [0]
  %2 = constant i64[1] [2]
  %3 = constant i64[1] [3]
  %n: i64[1] = Shape(%q) {end = 3, start = 2}
  %r: bool[1, 1, )" + part +
                       R"(, 4] = Slice(%l, %0, %n, %2)
  %c: bool[1, 1, )" + part +
                       ", " + part + R"(] = Slice(%r, %0, %n, %3)
  %kt: f32[1, 3, 16, S] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[1, 3, S, S] = MatMul(%q, %kt)
  %t: f32[1, 3, S, S] = Where(%c, %s, %h)
  %w: f32[1, 3, S, S] = Softmax(%t)
  %y: f32[1, 3, S, 8] = MatMul(%w, %v)
}
)",
                   R"(symbol S = dim(@main, %q, 2) in [1, *]
graph @main(%q: f32[1, 3, S, 16], %k: f32[1, 3, S, 16], %v: f32[1, 3, S, 8]) -> (%y) {
  %y: f32[1, 3, S, 8] = Attention(%q, %k, %v) {is_causal = 1, scale = 1.0}
}
)");
  }
}

// Layers with the same masks have one.
TEST(AttentionMask, LayersShareAMask) {
  std::string nodes = "  %p: f32[2, 1, 4, 4] = Neg(%m)\n";
  std::string after = nodes + "  %0: f32[2, 1, 4, 4] = Add(%p, %n)\n";
  for (const char* layer : {"a", "b"}) {
    const std::string l = layer, x = l == "a" ? "%q" : "%ya";
    nodes += "  %t" + l + ": f32[2, 3, 8, 4] = Transpose(" + x + ") {perm = [0, 1, 3, 2]}\n" +
             "  %s" + l + ": f32[2, 3, 4, 4] = MatMul(" + x + ", %t" + l + ")\n" + "  %u" + l +
             ": f32[2, 3, 4, 4] = Add(%s" + l + ", %p)\n" + "  %v" + l +
             ": f32[2, 3, 4, 4] = Add(%u" + l + ", %n)\n" + "  %w" + l +
             ": f32[2, 3, 4, 4] = Softmax(%v" + l + ")\n" + "  %y" + l +
             ": f32[2, 3, 4, 8] = MatMul(%w" + l + ", " + x + ")\n";
    after += "  %y" + l + ": f32[2, 3, 4, 8] = Attention(" + x + ", " + x + ", " + x +
             ", %0) {hidden_score = -inf, scale = 1.0}\n";
  }
  const std::string inputs = "%q: f32[2, 3, 4, 8], %m: f32[2, 1, 4, 4], %n: f32[4]";
  expect_rewrite(fuse_attention, graph_of(inputs, nodes, "%yb"), graph_of(inputs, after, "%yb"));
}

// A mask that fits or not, which the sum finds when it runs, and Expand does, too.
TEST(AttentionMask, AMaskWhoseSizeIsComparedWhenRunning) {
  expect_rewrite(fuse_attention, R"(symbol S = dim(@main, %k, 2) in [1, *]
graph @main(%q: f32[1, 3, 2, 16], %k: f32[1, 3, S, 16], %v: f32[1, 3, S, 8], %m: f32[2, 64]) -> (%y) {
  %0 = constant i64[1] [0]
  %1 = constant i64[1] [1]
  %n: i64[1] = Shape(%k) {end = 3, start = 2}
  %c: f32[2, min(S, 64)] = Slice(%m, %0, %n, %1)
  %kt: f32[1, 3, 16, S] = Transpose(%k) {perm = [0, 1, 3, 2]}
  %s: f32[1, 3, 2, S] = MatMul(%q, %kt)
  %t: f32[1, 3, 2, S] = Add(%s, %c)
  %w: f32[1, 3, 2, S] = Softmax(%t)
  %y: f32[1, 3, 2, 8] = MatMul(%w, %v)
}
)",
                 R"(symbol S = dim(@main, %k, 2) in [1, *]
graph @main(%q: f32[1, 3, 2, 16], %k: f32[1, 3, S, 16], %v: f32[1, 3, S, 8], %m: f32[2, 64]) -> (%y) {
  %0 = constant i64[1] [0]
  %1 = constant i64[1] [1]
  %2 = constant i64[1] [2]
  %n: i64[1] = Shape(%k) {end = 3, start = 2}
  %c: f32[2, min(S, 64)] = Slice(%m, %0, %n, %1)
  %3: i64[1] = Shape(%k) {end = 3, start = 2}
  %4: i64[2] = Concat(%2, %3) {axis = 0}
  %5: f32[2, S] = Expand(%c, %4)
  %y: f32[1, 3, 2, 8] = Attention(%q, %k, %v, %5) {hidden_score = -inf, scale = 1.0}
}
)");
}

}  // namespace
}  // namespace sluice
