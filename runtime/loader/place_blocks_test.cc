#include "runtime/loader/place_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

bool live_together(const PlacedBlock& a, const PlacedBlock& b) { return a.first <= b.last && b.first <= a.last; }

bool overlap(const PlacedBlock& a, const PlacedBlock& b) { return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes; }

uint64_t most_alive(const std::vector<PlacedBlock>& blocks) {
  uint64_t most = 0;
  for (const PlacedBlock& at : blocks) {
    uint64_t alive = 0;
    for (const PlacedBlock& block : blocks) alive += block.first <= at.first && at.first <= block.last ? block.bytes : 0;
    most = std::max(most, alive);
  }
  return most;
}

TEST(PlaceBlocks, NeverOverlapWhileAlive) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlacedBlock> blocks(random() % 60);
    for (PlacedBlock& block : blocks) {
      block.first = random() % 50;
      block.last = block.first + random() % 12;
      block.bytes = 64 * (random() % 20);
    }
    const uint64_t arena = place_blocks(blocks);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_LE(blocks[i].offset + blocks[i].bytes, arena);
      EXPECT_EQ(blocks[i].offset % 64, 0u);
      for (size_t k = 0; k < i; ++k) EXPECT_FALSE(live_together(blocks[i], blocks[k]) && overlap(blocks[i], blocks[k])) << i << " " << k;
    }
    EXPECT_LE(arena, 2 * most_alive(blocks));  // no bound of the algorithm: these rounds reach 1.51
  }
}

TEST(PlaceBlocks, AChainTakesTwoBlocks) {
  std::vector<PlacedBlock> blocks;
  for (uint32_t task = 0; task < 100; ++task) blocks.push_back({task, task + 1, 640, 0});
  EXPECT_EQ(place_blocks(blocks), 1280u);
}

TEST(PlaceBlocks, NothingTakesNothing) {
  std::vector<PlacedBlock> blocks = {{0, 3, 0, 0}, {1, 1, 0, 0}};
  EXPECT_EQ(place_blocks(blocks), 0u);
  EXPECT_EQ(place_blocks({}), 0u);
}

}  // namespace
}  // namespace sluice
