#include "common/symbolic/nominal.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(NominalValue, IsThatOfTheSymbolsWithinWhatIsKnownOfThem) {
  ExpressionTable table;
  const auto symbol = [&](Symbol given) {
    return table.symbol_expression(table.add_symbol(std::move(given)));
  };
  const ExpressionId batch = symbol({.name = "batch", .axis = 0}),
                     height = symbol({.name = "h", .axis = 2}),
                     tokens = symbol({.name = "tokens", .axis = 1, .high = 40}),
                     past = symbol({.name = "past", .axis = 2, .low = 500}),
                     sixes = symbol({.name = "sixes", .axis = 0, .divisor = 6});
  EXPECT_EQ(nominal_value(table, batch), kNominalBatch);
  EXPECT_EQ(nominal_value(table, height), kNominalSize);
  EXPECT_EQ(nominal_value(table, tokens), 40);
  EXPECT_EQ(nominal_value(table, past), 500);
  EXPECT_EQ(nominal_value(table, sixes), 6);
  EXPECT_EQ(nominal_value(table, table.add(table.multiply(batch, height), table.constant(1))),
            kNominalBatch * kNominalSize + 1);
  EXPECT_EQ(nominal_value(table, table.subtract(batch, height)), 1) << "at least 1";
  EXPECT_EQ(nominal_value(table, table.floor_divide(height, table.subtract(batch, batch))), 1)
      << "no value";
}

}  // namespace
}  // namespace sluice
