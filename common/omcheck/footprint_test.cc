#include "common/omcheck/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sluice {
namespace {

std::set<uint64_t> bytes_of(const Footprint& footprint) {
  std::set<uint64_t> bytes;
  for (uint64_t row = 0; row < footprint.rows; ++row) {
    for (uint64_t byte = 0; byte < footprint.row_bytes; ++byte)
      bytes.insert(footprint.begin + row * footprint.pitch + byte);
  }
  return bytes;
}

Footprint random_footprint(std::mt19937& random) {
  Footprint result;
  result.begin = random() % 40;
  result.pitch = 1 + random() % 8;
  result.row_bytes = 1 + random() % result.pitch;
  result.rows = 1 + random() % 6;
  if (result.row_bytes == result.pitch) {
    result.row_bytes *= result.rows;
    result.rows = 1;
  }
  if (result.rows == 1) result.pitch = result.row_bytes;
  return result;
}

TEST(Footprint, OverlapAndCoverAgreeWithSetsOfBytes) {
  std::mt19937 random(1);
  int overlapping = 0, covered = 0;
  for (int i = 0; i < 50000; ++i) {
    const Footprint a = random_footprint(random), b = random_footprint(random);
    const std::set<uint64_t> a_bytes = bytes_of(a), b_bytes = bytes_of(b);
    const bool share =
        std::ranges::any_of(a_bytes, [&](uint64_t x) { return b_bytes.contains(x); });
    ASSERT_EQ(overlap(a, b), share) << i;
    ASSERT_EQ(overlap(b, a), share) << i;
    ASSERT_EQ(covers(a, b), std::ranges::includes(a_bytes, b_bytes)) << i;
    overlapping += share ? 1 : 0;
    covered += covers(a, b) ? 1 : 0;
  }
  EXPECT_GT(overlapping, 5000);
  EXPECT_GT(covered, 500);
}

TEST(Footprint, OtherRegionsAndEmptyOnesShareNothing) {
  const Footprint one{0, 0, 1, 8, 8}, other{1, 0, 1, 8, 8}, empty{0, 4, 1, 0, 0};
  EXPECT_FALSE(overlap(one, other));
  EXPECT_FALSE(covers(one, other));
  EXPECT_FALSE(overlap(one, empty));
  EXPECT_TRUE(covers(one, empty));
}

}  // namespace
}  // namespace sluice
