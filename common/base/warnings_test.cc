#include "common/base/warnings.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(WarningsTest, LinesComeKindByKind) {
  Warnings warnings;
  EXPECT_TRUE(warnings.empty());
  warnings.add(Leniency::kUnknownAttribute, "a");
  warnings.add(Leniency::kDefinedTwice, "b");
  warnings.add(Leniency::kUnknownAttribute, "c");
  EXPECT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.lines(), ElementsAre("b", "a", "c"));
}

TEST(WarningsTest, ManyOfAKindAreCounted) {
  Warnings warnings;
  for (int i = 0; i < 10'000; ++i) warnings.add(Leniency::kWideScale, "wide");
  EXPECT_THAT(warnings.lines(), SizeIs(Warnings::kMaxOfAKind + 1));
  EXPECT_EQ(warnings.lines().back(), "and 9990 more scales wider than the normalised dims");
}

}  // namespace
}  // namespace sluice
