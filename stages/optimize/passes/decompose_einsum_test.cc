#include <gtest/gtest.h>

#include <map>
#include <string>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DecomposeEinsum, ProductOfMatrices) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[N, 4, 6], %b: f32[N, 5, 6]) -> (%y) {
  %y: f32[N, 4, 5] = Einsum(%a, %b) {equation = "bik,bjk->bij"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[N, 4, 6], %b: f32[N, 5, 6]) -> (%y) {
  %0: f32[N, 6, 5] = Transpose(%b) {perm = [0, 2, 1]}
  %y: f32[N, 4, 5] = MatMul(%a, %0)
}
)");
}

TEST(DecomposeEinsum, RowsOfOpenDims) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %a, 1) in [1, *]
graph @main(%a: f32[N, M, 6], %b: f32[5, 6]) -> (%y) {
  %y: f32[N, M, 5] = Einsum(%a, %b) {equation = "bik,jk"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %a, 1) in [1, *]
graph @main(%a: f32[N, M, 6], %b: f32[5, 6]) -> (%y) {
  %0: f32[6, 5] = Transpose(%b) {perm = [1, 0]}
  %y: f32[N, M, 5] = MatMul(%a, %0)
}
)");
}

TEST(DecomposeEinsum, SeveralLettersOfRowsAndOfTheSum) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f32[2, 3, 4, 5], %b: f32[5, 4, 7]) -> (%y) {
  %y: f32[7, 3, 2] = Einsum(%a, %b) {equation = "abkl,lkc->cba"}
}
)",
                 R"(graph @main(%a: f32[2, 3, 4, 5], %b: f32[5, 4, 7]) -> (%y) {
  %0 = constant i64[2] [6, 20]
  %1 = constant i64[2] [20, 7]
  %2 = constant i64[3] [2, 3, 7]
  %3: f32[6, 20] = Reshape(%a, %0)
  %4: f32[4, 5, 7] = Transpose(%b) {perm = [1, 0, 2]}
  %5: f32[20, 7] = Reshape(%4, %1)
  %6: f32[6, 7] = MatMul(%3, %5)
  %7: f32[2, 3, 7] = Reshape(%6, %2)
  %y: f32[7, 3, 2] = Transpose(%7) {perm = [2, 1, 0]}
}
)");
}

TEST(DecomposeEinsum, ThreeOperandsWithDots) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f16[2, 3, 4], %b: f16[4], %c: f16[3, 5]) -> (%y) {
  %y: f16[2, 5] = Einsum(%a, %b, %c) {equation = "...ij,j,ik->...k"}
}
)",
                 R"(graph @main(%a: f16[2, 3, 4], %b: f16[4], %c: f16[3, 5]) -> (%y) {
  %0 = constant i64[2] [6, 4]
  %1 = constant i64[2] [4, 1]
  %2 = constant i64[2] [2, 3]
  %3: f32[2, 3, 4] = Cast(%a) {to = 1}
  %4: f32[4] = Cast(%b) {to = 1}
  %5: f32[6, 4] = Reshape(%3, %0)
  %6: f32[4, 1] = Reshape(%4, %1)
  %7: f32[6, 1] = MatMul(%5, %6)
  %8: f32[2, 3] = Reshape(%7, %2)
  %9: f32[3, 5] = Cast(%c) {to = 1}
  %10: f32[2, 5] = MatMul(%8, %9)
  %y: f16[2, 5] = Cast(%10) {to = 10}
}
)");
}

TEST(DecomposeEinsum, DoublesAreMultipliedAndSummed) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f64[5], %b: f64[5]) -> (%y) {
  %y: f64[] = Einsum(%a, %b) {equation = "i,i"}
}
)",
                 R"(graph @main(%a: f64[5], %b: f64[5]) -> (%y) {
  %0 = constant i64[1] [0]
  %1: f64[5] = Mul(%a, %b)
  %y: f64[] = ReduceSum(%1, %0) {keepdims = 0}
}
)");
}

// The product of the operands in the other order needs no Transpose of its result: products read
// their operands through Transposes.
TEST(DecomposeEinsum, ProductInTheOrderOfTheResult) {
  expect_rewrite(decompose_einsum,
                 R"(graph @main(%a: f32[4, 6], %b: f32[6, 5]) -> (%y) {
  %y: f32[5, 4] = Einsum(%a, %b) {equation = "ik,kj->ji"}
}
)",
                 R"(graph @main(%a: f32[4, 6], %b: f32[6, 5]) -> (%y) {
  %0: f32[5, 6] = Transpose(%b) {perm = [1, 0]}
  %1: f32[6, 4] = Transpose(%a) {perm = [1, 0]}
  %y: f32[5, 4] = MatMul(%0, %1)
}
)");
}

TEST(DecomposeEinsum, ScoresOfAttention) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
graph @main(%q: f32[N, S, 3, 8], %k: f32[N, S, 3, 8]) -> (%y) {
  %y: f32[N, 3, S, S] = Einsum(%q, %k) {equation = "bihd,bjhd->bhij"}
}
)",
                 R"(symbol N = dim(@main, %q, 0) in [1, *]
symbol S = dim(@main, %q, 1) in [1, *]
graph @main(%q: f32[N, S, 3, 8], %k: f32[N, S, 3, 8]) -> (%y) {
  %0: f32[N, 3, S, 8] = Transpose(%q) {perm = [0, 2, 1, 3]}
  %1: f32[N, 3, 8, S] = Transpose(%k) {perm = [0, 2, 3, 1]}
  %y: f32[N, 3, S, S] = MatMul(%0, %1)
}
)");
}

// The sum's order is that of the term whose Transpose would be a copy; columns become two dims.
TEST(DecomposeEinsum, ProjectionsOfHeads) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol S = dim(@main, %x, 1) in [1, *]
graph @main(%x: f32[N, S, 3, 8], %w: f32[3, 8, 6], %v: f32[6, 3, 8]) -> (%y, %z) {
  %y: f32[N, S, 6] = Einsum(%x, %w) {equation = "btnh,nhd->btd"}
  %z: f32[N, S, 3, 8] = Einsum(%y, %v) {equation = "btd,dnh->btnh"}
}
)",
                 R"(symbol N = dim(@main, %x, 0) in [1, *]
symbol S = dim(@main, %x, 1) in [1, *]
graph @main(%x: f32[N, S, 3, 8], %w: f32[3, 8, 6], %v: f32[6, 3, 8]) -> (%y, %z) {
  %0 = constant i64[3] [0, 0, 24]
  %1 = constant i64[2] [24, 6]
  %2 = constant i64[2] [6, 24]
  %3 = constant i64[4] [0, 0, 3, 8]
  %4: f32[N, S, 24] = Reshape(%x, %0)
  %5: f32[24, 6] = Reshape(%w, %1)
  %y: f32[N, S, 6] = MatMul(%4, %5)
  %6: f32[6, 24] = Reshape(%v, %2)
  %7: f32[N, S, 24] = MatMul(%y, %6)
  %z: f32[N, S, 3, 8] = Reshape(%7, %3)
}
)");
}

// Rows before the batch: the second operand broadcasts to them.
TEST(DecomposeEinsum, RowsThatLead) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol S = dim(@main, %a, 2) in [1, *]
graph @main(%a: f32[N, 3, S, 4], %b: f32[3, 4, 5]) -> (%y) {
  %y: f32[N, 3, S, 5] = Einsum(%a, %b) {equation = "bhid,hde->bhie"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol S = dim(@main, %a, 2) in [1, *]
graph @main(%a: f32[N, 3, S, 4], %b: f32[3, 4, 5]) -> (%y) {
  %y: f32[N, 3, S, 5] = MatMul(%a, %b)
}
)");
}

TEST(DecomposeEinsum, OneOpenSizeAmongJoinedLetters) {
  expect_rewrite(decompose_einsum,
                 R"(symbol S = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[S, 4, 6], %b: f32[S, 4, 5]) -> (%y) {
  %y: f32[6, 5] = Einsum(%a, %b) {equation = "sti,stj->ij"}
}
)",
                 R"(symbol S = dim(@main, %a, 0) in [1, *]
graph @main(%a: f32[S, 4, 6], %b: f32[S, 4, 5]) -> (%y) {
  %0 = constant i64[2] [6, -1]
  %1 = constant i64[2] [-1, 5]
  %2: f32[6, S, 4] = Transpose(%a) {perm = [2, 0, 1]}
  %3: f32[6, 4*S] = Reshape(%2, %0)
  %4: f32[4*S, 5] = Reshape(%b, %1)
  %y: f32[6, 5] = MatMul(%3, %4)
}
)");
}

TEST(DecomposeEinsum, AxesThatBroadcast) {
  expect_rewrite(decompose_einsum, R"(graph @main(%a: f32[2, 3], %b: f32[1, 3]) -> (%y) {
  %y: f32[2] = Einsum(%a, %b) {equation = "ij,ij->i"}
}
)",
                 R"(graph @main(%a: f32[2, 3], %b: f32[1, 3]) -> (%y) {
  %0 = constant i64[1] [0]
  %1 = constant i64[2] [3, 1]
  %2 = constant i64[1] [2]
  %3: f32[3] = Squeeze(%b, %0)
  %4: f32[3, 1] = Reshape(%3, %1)
  %5: f32[2, 1] = MatMul(%a, %4)
  %y: f32[2] = Reshape(%5, %2)
}
)");
  expect_decomposed(decompose_einsum,
                    R"(graph @main(%a: f32[5, 1, 2, 3], %b: f32[4, 3, 6]) -> (%y) {
  %y: f32[5, 4, 2, 6] = Einsum(%a, %b) {equation = "...ij,...jk"}
}
)",
                    Op::kEinsum);
}

// Without a sum the result is as large as the Einsum's own.
TEST(DecomposeEinsum, OuterProducts) {
  expect_rewrite(decompose_einsum,
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %b, 0) in [1, *]
graph @main(%a: f32[N], %b: f32[M]) -> (%y) {
  %y: f32[M, N] = Einsum(%a, %b) {equation = "i,j->ji"}
}
)",
                 R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %b, 0) in [1, *]
graph @main(%a: f32[N], %b: f32[M]) -> (%y) {
  %0 = constant i64[1] [1]
  %1 = constant i64[1] [0]
  %2: f32[N, 1] = Unsqueeze(%a, %0)
  %3: f32[1, M] = Unsqueeze(%b, %1)
  %4: f32[N, M] = Mul(%2, %3)
  %y: f32[M, N] = Transpose(%4) {perm = [1, 0]}
}
)");
}

// All orders of up to five letters in two operands and the result.
TEST(DecomposeEinsum, TwoOperandsOfAllForms) {
  const std::map<char, int> sizes = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'e', 3}};
  const auto type = [&](const std::string& letters) {
    std::string dims;
    for (const char letter : letters)
      dims += (dims.empty() ? "" : ", ") + std::to_string(sizes.at(letter));
    return "f32[" + dims + "]";
  };
  for (const char* text :
       {"abc,bcd->da", "abc,dbc->ad", "abcd,cde->aeb", "cab,dca->bd", "abcd,badc->ba", "ab,c->bca",
        "abc,c->ab", "c,abc->ba", "abcd,abce->abde", "abcd,ebca->ebd", "ab,ab->ab", "ab,ab->",
        "abc,de->eadcb", "abcd,bd->", "eabc,bd->adce", "abc,abd->cd", "abc,abc->b"}) {
    const std::string equation = text;
    SCOPED_TRACE(equation);
    const size_t comma = equation.find(','), arrow = equation.find("->");
    expect_decomposed(decompose_einsum,
                      "graph @main(%a: " + type(equation.substr(0, comma)) +
                          ", %b: " + type(equation.substr(comma + 1, arrow - comma - 1)) +
                          ") -> (%y) {\n  %y: " + type(equation.substr(arrow + 2)) +
                          " = Einsum(%a, %b) {equation = \"" + equation + "\"}\n}\n",
                      Op::kEinsum);
  }
}

TEST(DecomposeEinsum, DiagonalsAndLargeSumsStay) {
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f32[4, 4]) -> (%y) {
  %y: f32[4] = Einsum(%a) {equation = "ii->i"}
}
)");
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f64[4096, 2], %b: f64[2, 4096]) -> (%y) {
  %y: f64[4096, 4096] = Einsum(%a, %b) {equation = "ij,jk->ik"}
}
)");
  expect_unchanged(decompose_einsum, R"(graph @main(%a: f32[2, 0], %b: f32[0, 2]) -> (%y) {
  %y: f32[] = Einsum(%a, %b) {equation = "ab,ba->"}
}
)");
  expect_unchanged(decompose_einsum, R"(symbol N = dim(@main, %a, 0) in [1, *]
symbol M = dim(@main, %b, 0) in [1, *]
graph @main(%a: f32[N, 3], %b: f32[M, 3]) -> (%y) {
  %y: f32[?] = Einsum(%a, %b) {equation = "ij,ij->i"}
}
)");
}

}  // namespace
}  // namespace sluice
