#include "common/omfile/place_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool overlap(const Buffer& a, const Buffer& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

uint64_t max_alive(const std::vector<Buffer>& buffers) {
  uint64_t maximum = 0;
  for (const Buffer& at : buffers) {
    uint64_t alive = 0;
    for (const Buffer& buffer : buffers)
      alive += buffer.first <= at.first && at.first <= buffer.last ? buffer.bytes : 0;
    maximum = std::max(maximum, alive);
  }
  return maximum;
}

TEST(PlaceBuffers, NeverOverlapWhileAlive) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Buffer> buffers(random() % 60);
    for (Buffer& buffer : buffers) {
      buffer.first = random() % 50;
      buffer.last = buffer.first + random() % 12;
      buffer.bytes = 64 * (random() % 20);
    }
    const uint64_t arena = place_buffers(buffers);
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
      EXPECT_EQ(buffers[i].offset % 64, 0u);
      for (size_t k = 0; k < i; ++k)
        EXPECT_FALSE(live_together(buffers[i], buffers[k]) && overlap(buffers[i], buffers[k]))
            << i << " " << k;
    }
    EXPECT_LE(arena, 2 * max_alive(buffers));  // no bound of the algorithm: these rounds reach 1.51
  }
}

TEST(PlaceBuffers, AChainTakesTwoBuffers) {
  std::vector<Buffer> buffers;
  for (uint32_t task = 0; task < 100; ++task) buffers.push_back({task, task + 1, 640, 0});
  EXPECT_EQ(place_buffers(buffers), 1280u);
}

TEST(PlaceBuffers, NothingTakesNothing) {
  std::vector<Buffer> buffers = {{0, 3, 0, 0}, {1, 1, 0, 0}};
  EXPECT_EQ(place_buffers(buffers), 0u);
  EXPECT_EQ(place_buffers({}), 0u);
}

}  // namespace
}  // namespace sluice
