#include "common/symbolic/expression.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "common/symbolic/testing/random_expression.h"

namespace sluice {
namespace {

struct Fixture : testing::Test {
  ExpressionTable table;
  SymbolId h = table.add_symbol({.name = "H", .low = 1});
  SymbolId n = table.add_symbol({.name = "N", .low = 1, .high = 64});
  ExpressionId H = table.symbol_expression(h);
  ExpressionId N = table.symbol_expression(n);
  ExpressionId c(int64_t value) { return table.constant(value); }
};

TEST_F(Fixture, EqualExpressionsHaveEqualIds) {
  EXPECT_EQ(table.add(H, N), table.add(N, H));
  EXPECT_EQ(table.multiply(c(2), table.add(H, c(3))), table.add(table.multiply(H, c(2)), c(6)));
  EXPECT_EQ(table.subtract(H, H), c(0));
  EXPECT_EQ(table.text(table.add(table.multiply(c(2), H), c(1))), "2*H + 1");
}

TEST_F(Fixture, DivisionGivesUpWholeTerms) {
  EXPECT_EQ(table.floor_divide(table.add(table.multiply(c(4), H), c(5)), c(2)),
            table.add(table.multiply(c(2), H), c(2)));
  EXPECT_EQ(table.floor_divide(table.floor_divide(H, c(2)), c(3)), table.floor_divide(H, c(6)));
  EXPECT_EQ(
      table.floor_divide(table.multiply(table.multiply(N, H), c(768)), table.multiply(N, c(64))),
      table.multiply(H, c(12)));
}

TEST_F(Fixture, DivisorsCancelDivisions) {
  const ExpressionId half = table.floor_divide(H, c(2));
  EXPECT_FALSE(table.prove_equal(table.multiply(c(2), half), H));
  table.symbol(h).divisor = 16;
  EXPECT_TRUE(table.prove_equal(table.multiply(c(2), half), H));
  // The output size of a convolution with stride 2, kernel 3, pad 1: floordiv(H - 1, 2) + 1.
  EXPECT_TRUE(
      table.prove_equal(table.add(table.floor_divide(table.subtract(H, c(1)), c(2)), c(1)), half));
}

TEST_F(Fixture, RequiredEqualityRaisesDivisors) {
  ExpressionId down = H;
  for (int i = 0; i < 4; ++i) down = table.floor_divide(down, c(2));
  EXPECT_TRUE(table.require_equal(table.multiply(c(16), down), H));
  EXPECT_EQ(table.symbol(h).divisor, 16);
  EXPECT_TRUE(table.prove_equal(table.multiply(c(2), down), table.floor_divide(H, c(8))));
  EXPECT_FALSE(table.require_equal(H, N));
  EXPECT_TRUE(table.require_equal(table.minimum(H, c(512)), H));
  EXPECT_EQ(table.symbol(h).high, 512);
  EXPECT_FALSE(table.require_equal(N, table.floor_divide(N, c(2))));
  EXPECT_EQ(table.symbol(n).divisor, 1);
}

TEST_F(Fixture, DemandsCanBeForgotten) {
  EXPECT_TRUE(table.require_equal(table.multiply(c(2), table.floor_divide(H, c(2))), H));
  const size_t mark = table.mark();
  const Symbol before = table.symbol(n);
  EXPECT_TRUE(table.require_equal(table.multiply(c(8), table.floor_divide(H, c(8))), H));
  EXPECT_TRUE(table.require_equal(table.minimum(N, c(32)), N));
  EXPECT_TRUE(table.require_min(N, 3));
  table.forget_since(mark);
  EXPECT_EQ(table.symbol(h).divisor, 2);
  EXPECT_EQ(table.symbol(n).high, before.high);
  EXPECT_EQ(table.symbol(n).low, before.low);
}

TEST_F(Fixture, RequiredSizeRaisesLow) {
  const ExpressionId down =
      table.floor_divide(table.add(table.floor_divide(table.add(H, c(1)), c(2)), c(-3)), c(2));
  EXPECT_TRUE(table.require_min(down, 2));  // floordiv(H + 1, 2) from 7
  EXPECT_EQ(table.symbol(h).low, 13);
  EXPECT_EQ(table.bounds(down).low, 2);
  EXPECT_TRUE(table.require_min(H, 5));
  EXPECT_EQ(table.symbol(h).low, 13);
  // Two symbols, or a difference: no requirement on one symbol is equivalent.
  EXPECT_TRUE(table.require_min(table.add(H, N), 1000));
  EXPECT_TRUE(
      table.require_min(table.subtract(H, table.multiply(c(2), table.floor_divide(H, c(2)))), 1));
  EXPECT_EQ(table.symbol(h).low, 13);
  EXPECT_EQ(table.symbol(n).low, 1);
  EXPECT_FALSE(table.require_min(table.floor_divide(N, c(32)), 3));
}

// Sizes may be 0 until something needs them to be 1: a divisor, or a simpler expression.
TEST_F(Fixture, OpenSymbolsRiseWhereThatHelps) {
  const SymbolId given = table.add_symbol({.name = "P"});
  const SymbolId open = table.add_symbol({.name = "B", .origin = SymbolOrigin::kOpenDim});
  const ExpressionId P = table.symbol_expression(given);
  const ExpressionId B = table.symbol_expression(open);
  EXPECT_EQ(table.make_simple(ExpressionOp::kMin, B, c(7)), table.minimum(B, c(7)));
  EXPECT_FALSE(table.assume_positive(table.add(B, c(-1))));
  EXPECT_FALSE(table.assume_positive(P)) << "its bounds were given";
  EXPECT_EQ(table.symbol(open).low, 0);
  const size_t mark = table.mark();
  EXPECT_EQ(table.make_simple(ExpressionOp::kMax, table.add(B, c(-1)), c(0)), table.add(B, c(-1)));
  EXPECT_EQ(table.symbol(open).low, 1);
  table.forget_since(mark);
  EXPECT_TRUE(table.assume_positive(table.multiply(c(12), B)));
  EXPECT_EQ(table.symbol(open).low, 1);
}

// A convolution of stride 2 and kernel 3 rounds up: H and 4*floordiv(floordiv(H + 1, 2) + 1, 2) are
// equal where 4 divides H.
TEST_F(Fixture, EqualToAMultipleIsAMultiple) {
  const ExpressionId half = table.floor_divide(table.add(H, c(1)), c(2));
  const ExpressionId quarter = table.floor_divide(table.add(half, c(1)), c(2));
  EXPECT_TRUE(table.require_equal(table.multiply(c(4), quarter), H));
  EXPECT_TRUE(table.is_multiple(H, 4));
  EXPECT_TRUE(table.prove_equal(table.multiply(c(2), quarter), half));
}

TEST_F(Fixture, BoundsDecideMinAndMax) {
  EXPECT_EQ(table.bounds(table.add(table.multiply(c(-1), N), c(3))).low, -61);
  EXPECT_EQ(table.maximum(N, c(0)), N);
  EXPECT_EQ(table.minimum(N, c(100)), N);
  EXPECT_EQ(table.floor_divide(N, c(65)), c(0));
  EXPECT_EQ(table.maximum(H, table.minimum(H, c(512))), H);
  EXPECT_EQ(table.minimum(table.maximum(H, N), H), H);
}

TEST_F(Fixture, EvaluatesAndSubstitutes) {
  const ExpressionId e = table.modulo(table.add(H, c(1)), c(4));
  EXPECT_EQ(table.evaluate(e, std::vector<int64_t>{6, 1}).value(), 3);
  EXPECT_EQ(table.as_constant(table.substitute(e, std::vector<ExpressionId>{c(6), c(1)})), 3);
  EXPECT_FALSE(table.evaluate(table.floor_divide(H, N), std::vector<int64_t>{6, 0}).ok());
}

// Counts leaves and operators, written out.
int64_t written_size(const ExpressionTable& table, ExpressionId id) {
  const Expression& e = table[id];
  if (e.op == ExpressionOp::kConstant || e.op == ExpressionOp::kSymbol) return 1;
  return 1 + written_size(table, e.a) + written_size(table, e.b);
}

// The size of a chain v = v*v, or v*(v + 1), of a symbol doubles with every link.
TEST_F(Fixture, ChainsOfProductsStopBeingSmall) {
  for (const int64_t plus : {0, 1}) {
    ExpressionId v = H;
    int links = 0;
    for (; links < 40; ++links) {
      const ExpressionId next = table.add(v, c(plus));
      if (!table.stays_small(ExpressionOp::kMul, v, next)) break;
      v = table.multiply(v, next);
      EXPECT_LE(written_size(table, v), ExpressionTable::kMaxSize);
    }
    EXPECT_GE(links, 4);
    EXPECT_LE(links, 12);
  }
}

TEST_F(Fixture, WrittenSizeIsWhatTheEstimateSays) {
  // This is 2*H + N: five leaves and operators.
  const ExpressionId a = table.add(table.multiply(c(2), H), N);
  EXPECT_EQ(written_size(table, a), 5);
  EXPECT_EQ(written_size(table, table.floor_divide(a, c(7))), 7);
  ExpressionId sum = H;  // of distinct symbols, one term each
  int64_t terms = 1;
  for (; terms < 1000 && table.stays_small(ExpressionOp::kAdd, sum, H); ++terms) {
    sum = table.add(sum, table.symbol_expression(
                             table.add_symbol({.name = "S" + std::to_string(terms), .low = 1})));
  }
  EXPECT_EQ(terms, ExpressionTable::kMaxTerms);
  EXPECT_EQ(written_size(table, sum), 2 * terms - 1);
}

// Returns the same expression made by another table, as a reader makes it from text.
ExpressionId made_again(const ExpressionTable& from, ExpressionId id, ExpressionTable& to,
                        std::map<ExpressionId, ExpressionId>& made) {
  const Expression& e = from[id];
  if (e.op == ExpressionOp::kConstant) return to.constant(e.value);
  if (e.op == ExpressionOp::kSymbol) return to.symbol_expression(static_cast<SymbolId>(e.value));
  if (const auto found = made.find(id); found != made.end()) return found->second;
  const ExpressionId b = made_again(from, e.b, to, made);
  return made[id] = to.make(e.op, made_again(from, e.a, to, made), b);
}

TEST(Expression, NormalFormsSayTheSameInEveryTable) {
  std::mt19937 random(1);
  static constexpr int64_t kDivisors[] = {1, 2, 4, 12};
  ExpressionTable first;
  for (int i = 0; i < 4; ++i) {
    first.add_symbol({.name = std::string(1, static_cast<char>('A' + i)),
                      .low = i,
                      .high = i == 2 ? 40 : INT64_MAX,
                      .divisor = kDivisors[i]});
  }
  ExpressionTable second;
  for (SymbolId i = 0; i < 4; ++i) second.add_symbol(first.symbol(i));
  std::vector<ExpressionId> expressions;
  for (int i = 0; i < 2000; ++i) expressions.push_back(random_expression(first, random, 5));
  // The other table makes them in another order.
  std::shuffle(expressions.begin(), expressions.end(), random);
  std::map<ExpressionId, ExpressionId> made;
  for (const ExpressionId id : expressions) {
    EXPECT_EQ(first.renormalize(id), id) << first.text(id) << "\n"
                                         << first.text(first.renormalize(id));
    const ExpressionId again = made_again(first, id, second, made);
    EXPECT_EQ(second.text(again), first.text(id));
  }
}

TEST_F(Fixture, OrderIsThatOfSymbolsWithConstantsLast) {
  const ExpressionId half = table.floor_divide(H, c(2));
  const ExpressionId few = table.minimum(c(512), H);
  const ExpressionId maximum = table.maximum(table.add(N, c(1)), half);
  EXPECT_EQ(table.text(few), "min(H, 512)");
  EXPECT_EQ(table.text(maximum), "max(N + 1, floordiv(H, 2))");
  EXPECT_EQ(table.text(table.add(table.add(c(1), maximum), table.multiply(few, table.add(N, H)))),
            "H*min(H, 512) + N*min(H, 512) + max(N + 1, floordiv(H, 2)) + 1");
}

TEST_F(Fixture, DeepDivisionsStopBeingSmall) {
  ExpressionId e = H;
  while (table.stays_small(ExpressionOp::kFloorDiv, e, N))
    e = table.floor_divide(table.add(e, c(1)), N);
  EXPECT_TRUE(table.is_small(e));
  EXPECT_FALSE(table.is_small(table.floor_divide(table.add(e, c(1)), N)));
  EXPECT_EQ(written_size(table, e), 1 + 4 * ExpressionTable::kMaxDepth);
}

}  // namespace
}  // namespace sluice