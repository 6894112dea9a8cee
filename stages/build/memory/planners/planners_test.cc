// Each planner by itself.
#include "stages/build/memory/planners/planners.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stages/build/memory/live_peak.h"
#include "stages/build/memory/plan_offsets.h"
#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/testing/offset_plans.h"

namespace sluice {
namespace {

OffsetPlan plan_with(const Planner& planner, const std::vector<Buffer>& buffers) {
  return planner.plan({.buffers = with_dense_tasks(buffers),
                       .enough = live_peak(buffers).bytes,
                       .visits = 300'000});
}

TEST(Planners, AllMakeValidPlans) {
  for (const Planner& planner : planners()) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      const std::vector<Buffer> buffers =
          random_buffers(random, 1 + random() % 50, 1 + random() % 40, 1 + random() % 20);
      const OffsetPlan plan = plan_with(planner, buffers);
      SCOPED_TRACE(planner.name);
      // The exact planner may stop before it has a plan.
      if (plan.offsets.empty() && planner.plan == plan_exact) continue;
      expect_valid(buffers, plan);
      ASSERT_EQ(plan.offsets, plan_with(planner, buffers).offsets);
    }
  }
}

// Returns the smallest arena over all orders in which buffers can be placed, each as low as those
// before it allow: some order leads to an optimum.
uint64_t brute_force(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  uint64_t smallest = UINT64_MAX;
  do {
    std::vector<uint64_t> offsets(buffers.size(), 0);
    uint64_t arena = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Buffer& buffer = buffers[order[i]];
      uint64_t& offset = offsets[order[i]];
      for (size_t j = 0; j < i; ++j) {
        const Buffer& other = buffers[order[j]];
        if (buffer.first <= other.last && other.first <= buffer.last)
          offset = std::max(offset, offsets[order[j]] + other.bytes);
      }
      arena = std::max(arena, offset + buffer.bytes);
    }
    smallest = std::min(smallest, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return smallest;
}

void expect_optimal(const std::vector<Buffer>& buffers) {
  const uint64_t optimum = brute_force(buffers), live = live_peak(buffers).bytes;
  const OffsetPlan plan = plan_exact({with_dense_tasks(buffers), live, UINT64_MAX, 10'000'000});
  expect_valid(buffers, plan);
  EXPECT_EQ(plan.arena_bytes, optimum);
  EXPECT_EQ(std::max(plan.bound, live), optimum);
}

TEST(ExactPlanner, OfFewBuffersIsOptimal) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Buffer> buffers;
    const size_t count = 1 + random() % 6;
    for (size_t i = 0; i < count; ++i) {
      const auto first = static_cast<int64_t>(random() % 6);
      buffers.push_back({first, first + static_cast<int64_t>(random() % 4), 1 + random() % 4, 0});
    }
    SCOPED_TRACE(round);
    expect_optimal(buffers);
  }
}

// Rare instances whose optimum is above the live bytes, found at random.
TEST(ExactPlanner, ProvesThatTheLiveBytesAreTooFew) {
  const std::vector<std::vector<Buffer>> instances = {
      {{0, 1, 2}, {4, 4, 2}, {3, 4, 2}, {1, 3, 1}, {2, 2, 1}, {2, 3, 1}, {0, 0, 2}, {1, 2, 1}},
      {{0, 0, 2}, {2, 4, 1}, {1, 3, 1}, {0, 1, 2}, {3, 5, 2}, {5, 5, 2}, {1, 2, 1}, {4, 4, 1}},
      {{0, 2, 3},
       {4, 5, 2},
       {2, 4, 2},
       {2, 3, 1},
       {1, 1, 3},
       {0, 0, 3},
       {5, 5, 3},
       {3, 4, 2},
       {5, 5, 1}}};
  for (const std::vector<Buffer>& buffers : instances) {
    EXPECT_GT(brute_force(buffers), live_peak(buffers).bytes);
    expect_optimal(buffers);
  }
}

// Without a better one there is none: the best known is not found again.
TEST(ExactPlanner, FindsOnlySmallerArenas) {
  const std::vector<Buffer> buffers = {{0, 1, 64, 0}, {1, 2, 64, 0}};
  EXPECT_EQ(plan_exact({buffers, 128, 129, 1000}).arena_bytes, 128u);
  EXPECT_TRUE(plan_exact({buffers, 128, 128, 1000}).offsets.empty());
}

TEST(ExactPlanner, StopsAtItsLimit) {
  std::mt19937 random(6);
  const std::vector<Buffer> buffers = random_buffers(random, 400, 100, 40);
  for (const uint64_t visits : {uint64_t{0}, uint64_t{1000}, uint64_t{50'000}}) {
    const OffsetPlan plan =
        plan_exact({with_dense_tasks(buffers), live_peak(buffers).bytes, UINT64_MAX, visits});
    EXPECT_LE(plan.pairs, visits);
  }
}

// A later buffer has the slot of an earlier one, which has the size of the larger of them.
TEST(MaxSlots, SlotsHaveTheSizeOfTheirLargestBuffer) {
  const std::vector<Buffer> buffers = {
      {0, 1, 1024, 0}, {0, 0, 512, 0}, {1, 2, 256, 0}, {2, 2, 2048, 0}};
  const OffsetPlan plan = plan_max_slots({.buffers = buffers});
  EXPECT_EQ(plan.offsets, (std::vector<uint64_t>{0, 2048, 2048, 0}));
  EXPECT_EQ(plan.arena_bytes, 2048u + 512u);
}

TEST(BinarySlots, SlotsAreSharedWithinAClassOnly) {
  constexpr uint64_t kLarge = (uint64_t{8} << 20) + 64;
  const std::vector<Buffer> buffers = {
      {0, 0, 576, 0}, {1, 1, 1024, 0}, {1, 1, 64, 0}, {2, 2, kLarge, 0}, {3, 3, kLarge + 64, 0}};
  const OffsetPlan plan = plan_binary_slots({.buffers = buffers});
  EXPECT_EQ(plan.offsets, (std::vector<uint64_t>{0, 0, 1024, 1536, 1536 + kLarge}));
  EXPECT_EQ(plan.arena_bytes, 1536 + kLarge + kLarge + 64);
}

}  // namespace
}  // namespace sluice
