#include "stages/build/memory/sub_memories.h"

#include <numeric>

#include "stages/build/memory/testing/offset_plans.h"

namespace sluice {
namespace {

constexpr uint64_t kLargest = 4096;

// Checks that no buffers overlap, that each lies in one sub-memory, and that only a buffer which is
// itself larger makes a sub-memory larger than the limit.
void expect_split(const std::vector<Buffer>& buffers, const SubMemoryPlan& plan) {
  const uint64_t sum =
      std::accumulate(plan.sub_memories.begin(), plan.sub_memories.end(), uint64_t{0});
  expect_valid(buffers, {plan.offsets, sum});
  uint64_t begin = 0;
  for (const uint64_t bytes : plan.sub_memories) {
    bool has_larger = false;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const uint64_t first = plan.offsets[i], end = first + buffers[i].bytes;
      if (end <= begin || first >= begin + bytes || buffers[i].bytes == 0) continue;
      ASSERT_GE(first, begin) << "buffer " << i;
      ASSERT_LE(end, begin + bytes) << "buffer " << i;
      has_larger = has_larger || buffers[i].bytes > kLargest;
    }
    ASSERT_TRUE(bytes <= kLargest || has_larger) << bytes;
    begin += bytes;
  }
}

TEST(SubMemories, NoBufferLiesAcrossABorder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Buffer> buffers =
        random_buffers(random, 1 + random() % 60, 30, 1 + random() % 20);
    expect_split(buffers, plan_sub_memories(buffers, kLargest));
  }
}

TEST(SubMemories, ALargeBufferHasOneOfItsSizeWhichOthersShare) {
  const std::vector<Buffer> buffers = {
      {0, 9, 3 * kLargest - 64}, {0, 9, 1024}, {0, 9, kLargest}, {10, 12, 2 * kLargest}};
  const SubMemoryPlan plan = plan_sub_memories(buffers, kLargest);
  expect_split(buffers, plan);
  const uint64_t sum =
      std::accumulate(plan.sub_memories.begin(), plan.sub_memories.end(), uint64_t{0});
  EXPECT_EQ(sum, 3 * kLargest - 64 + 1024 + kLargest);
}

TEST(SubMemories, ThereIsNoneWithoutBytes) {
  EXPECT_TRUE(plan_sub_memories({}, kLargest).sub_memories.empty());
  EXPECT_TRUE(plan_sub_memories({{0, 1, 0}}, kLargest).sub_memories.empty());
}

}  // namespace
}  // namespace sluice
