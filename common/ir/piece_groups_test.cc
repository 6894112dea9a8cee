#include "common/ir/piece_groups.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

class Pieces : public testing::Test {
 protected:
  ExpressionId number(int64_t value) { return table_.constant(value); }
  std::string_view join(int32_t whole, int32_t part, int64_t distance) {
    return groups_.join(whole, part, number(distance));
  }
  int64_t offset(int32_t value) { return table_[groups_.offset(value).value()].value; }
  int64_t extent(int32_t value) { return table_[groups_.extent(value).value()].value; }

  ExpressionTable table_;
  PieceGroups groups_{table_, 16};
};

TEST_F(Pieces, OfAConcatFollowEachOther) {
  groups_.add_owner(0, number(3));
  groups_.add_owner(1, number(5));
  EXPECT_EQ(join(2, 0, 0), "");
  EXPECT_EQ(join(2, 1, 3), "");
  EXPECT_EQ(offset(1), 3);
  EXPECT_EQ(offset(2), 0);
  EXPECT_EQ(extent(0), 8);
}

// The second Concat begins with what the first one has, so it contains it.
TEST_F(Pieces, OfCascadesAreOfOneWhole) {
  for (int32_t value : {0, 1, 2}) groups_.add_owner(value, number(4));
  EXPECT_EQ(join(3, 0, 0), "");
  EXPECT_EQ(join(3, 1, 4), "");
  EXPECT_EQ(join(4, 3, 0), "");
  EXPECT_EQ(join(4, 2, 8), "");
  EXPECT_EQ(join(5, 0, 0), "") << "the same place by another way";
  EXPECT_EQ(join(5, 1, 4), "");
  EXPECT_EQ(extent(3), 12);
}

TEST_F(Pieces, CannotLieAtTwoPlaces) {
  groups_.add_owner(0, number(4));
  EXPECT_EQ(join(1, 0, 0), "");
  EXPECT_EQ(join(1, 0, 4), "it is at another place of the same memory already");
}

TEST_F(Pieces, CannotShareUnits) {
  for (int32_t value : {0, 1, 2}) groups_.add_owner(value, number(4));
  EXPECT_EQ(join(3, 0, 0), "");
  EXPECT_EQ(join(3, 1, 4), "");
  EXPECT_EQ(join(4, 0, 0), "");
  EXPECT_EQ(join(4, 2, 4), "its place is that of another value");
  EXPECT_EQ(extent(4), 8) << "nothing was changed";
}

TEST_F(Pieces, MayComeBeforeTheirWhole) {
  for (int32_t value : {0, 1}) groups_.add_owner(value, number(4));
  EXPECT_EQ(join(2, 0, 0), "");
  EXPECT_EQ(join(0, 1, -4), "");
  EXPECT_EQ(offset(1), 0);
  EXPECT_EQ(offset(2), 4);
}

TEST_F(Pieces, StayWithinMemoryThatIsGiven) {
  for (int32_t value : {0, 1, 2}) groups_.add_owner(value, number(4));
  groups_.pin(3, number(8));
  EXPECT_EQ(join(3, 0, 0), "");
  EXPECT_EQ(join(3, 2, 6), "its memory is given from outside");
  EXPECT_EQ(join(3, 1, 4), "");
  EXPECT_EQ(join(4, 3, 0), "");
  groups_.pin(5, number(4));
  EXPECT_EQ(join(4, 5, 8), "its memory is given from outside");
}

TEST_F(Pieces, OfOpenSizesMustBeApartWhateverTheSizes) {
  const SymbolId n = table_.add_symbol({.name = "n", .low = 0, .high = INT64_MAX});
  const ExpressionId rows = table_.symbol_expression(n);
  groups_.add_owner(0, rows);
  groups_.add_owner(1, rows);
  EXPECT_EQ(groups_.join(2, 0, number(0)), "");
  EXPECT_EQ(groups_.join(2, 1, number(3)), "its place is that of another value");
  EXPECT_EQ(groups_.join(2, 1, rows), "");
  EXPECT_EQ(groups_.offset(1), rows);
  EXPECT_EQ(groups_.extent(2), table_.multiply(rows, number(2)));
}

// Joins at random are compared with an array of who owns each unit.
TEST(PieceGroups, AgreeWithACountOfUnits) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    constexpr int32_t kValues = 12;
    ExpressionTable table;
    PieceGroups groups(table, kValues + 1);
    std::vector<int64_t> extents, owner(64, -1);
    for (int32_t value = 0; value < kValues; ++value) {
      extents.push_back(1 + static_cast<int64_t>(random() % 9));
      groups.add_owner(value, table.constant(extents.back()));
    }
    for (int32_t value = 0; value < kValues; ++value) {
      const auto at = static_cast<int64_t>(random() % 50);
      bool is_free = true;
      for (int64_t unit = at; unit < at + extents[static_cast<size_t>(value)]; ++unit)
        is_free = is_free && owner[static_cast<size_t>(unit)] < 0;
      ASSERT_EQ(groups.join(kValues, value, table.constant(at)).empty(), is_free);
      for (int64_t unit = at; is_free && unit < at + extents[static_cast<size_t>(value)]; ++unit)
        owner[static_cast<size_t>(unit)] = value;
    }
  }
}

}  // namespace
}  // namespace sluice
