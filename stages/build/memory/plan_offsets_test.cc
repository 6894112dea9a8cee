#include "stages/build/memory/plan_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace sluice {
namespace {

bool overlap(const Buffer& a, uint64_t a_offset, const Buffer& b, uint64_t b_offset) {
  const bool together = a.first <= b.last && b.first <= a.last;
  return together && a_offset < b_offset + b.bytes && b_offset < a_offset + a.bytes;
}

// Returns the maximum of live bytes over all tasks, counted task by task.
uint64_t count_live(const std::vector<Buffer>& buffers) {
  uint64_t maximum = 0;
  for (const Buffer& at : buffers) {  // the maximum begins with some buffer
    uint64_t live = 0;
    for (const Buffer& buffer : buffers)
      live += buffer.first <= at.first && at.first <= buffer.last ? buffer.bytes : 0;
    maximum = std::max(maximum, live);
  }
  return maximum;
}

void expect_valid(const std::vector<Buffer>& buffers, const OffsetPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_LE(plan.offsets[i] + buffers[i].bytes, plan.arena_bytes) << "buffer " << i;
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      ASSERT_FALSE(overlap(buffers[i], plan.offsets[i], buffers[j], plan.offsets[j]))
          << "buffers " << i << " and " << j;
    }
  }
}

std::vector<Buffer> random_buffers(std::mt19937& random, size_t count, int64_t tasks,
                                   int64_t longest) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<int64_t>(random() % static_cast<uint32_t>(tasks));
    const auto last = std::min<int64_t>(
        tasks - 1, first + static_cast<int64_t>(random() % static_cast<uint32_t>(longest)));
    buffers.push_back({first, last, 64 * (random() % 5 == 0 ? 0 : 1 + random() % 100)});
  }
  return buffers;
}

TEST(PlanOffsets, OfRandomBlocksNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Buffer> buffers =
        random_buffers(random, 1 + random() % 60, 1 + random() % 40, 1 + random() % 20);
    const OffsetPlan plan = plan_offsets(buffers);
    expect_valid(buffers, plan);
    ASSERT_EQ(live_peak(buffers).bytes, count_live(buffers));
    ASSERT_GE(plan.arena_bytes, count_live(buffers));
    ASSERT_EQ(plan.offsets, plan_offsets(buffers).offsets);
  }
}

TEST(PlanOffsets, OfAChainNeedsNoMoreThanTwoNeighbours) {
  std::vector<Buffer> buffers;
  for (int64_t i = 0; i < 100; ++i)
    buffers.push_back({i, i + 1, 64 * (1 + static_cast<uint64_t>(i * 37 % 11))});
  const OffsetPlan plan = plan_offsets(buffers);
  expect_valid(buffers, plan);
  EXPECT_EQ(plan.arena_bytes, count_live(buffers));
}

TEST(PlanOffsets, OfNothingAndOfNoBytesIsEmpty) {
  EXPECT_EQ(plan_offsets({{0, 3, 0}, {1, 2, 0}}).arena_bytes, 0u);
  EXPECT_EQ(live_peak({}).bytes, 0u);
}

TEST(LivePeak, OfMoreThan63BitsIsRight) {
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  EXPECT_EQ(live_peak({{0, 1, kHuge}, {1, 2, kHuge}, {2, 3, 64}}).bytes, 2 * kHuge);
  EXPECT_EQ(live_peak({{0, 2, kHuge}, {1, 2, kHuge}, {2, 3, kHuge}, {4, 4, 64}}).bytes, 3 * kHuge);
  EXPECT_EQ(live_peak({{0, 2, kHuge}, {1, 2, kHuge}, {2, 3, kHuge}, {4, 4, 64}}).task, 2);
  EXPECT_EQ(live_peak(std::vector<Buffer>(9, {3, 5, kHuge})).bytes, UINT64_MAX);
  EXPECT_EQ(live_peak(std::vector<Buffer>(9, {3, 5, kHuge})).task, 3);
}

// A hang shows as the test's timeout; the figure is printed, not judged.
TEST(PlanOffsets, OfManyBlocksIsQuick) {
  std::mt19937 random(2);
  const std::vector<Buffer> buffers = random_buffers(random, 100000, 100000, 12);
  const auto start = std::chrono::steady_clock::now();
  const OffsetPlan plan = plan_offsets(buffers);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LE(static_cast<double>(plan.arena_bytes),
            1.5 * static_cast<double>(live_peak(buffers).bytes));
  std::printf(
      "100000 buffers: %.2f s, arena %.3f of live\n", seconds.count(),
      static_cast<double>(plan.arena_bytes) / static_cast<double>(live_peak(buffers).bytes));
}

// Reads rows `id,lower,upper,size`; upper is exclusive.
std::vector<Buffer> read_instance(const std::filesystem::path& path) {
  std::vector<Buffer> buffers;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::string id;
    char comma = 0;
    Buffer buffer;
    std::getline(row, id, ',');
    row >> buffer.first >> comma >> buffer.last >> comma >> buffer.bytes;
    --buffer.last;
    buffers.push_back(buffer);
  }
  return buffers;
}

TEST(PlanOffsets, OfPublicInstancesIsCloseToTheBound) {
  const std::filesystem::path folder =
      std::filesystem::path(SLUICE_SOURCE_DIR) / ".." / "shared" / "minimalloc";
  size_t found = 0;
  for (const char* name : {"A", "B", "C", "D"}) {
    const std::filesystem::path path = folder / (std::string(name) + ".1048576.csv");
    if (!std::filesystem::exists(path)) continue;
    ++found;
    const std::vector<Buffer> buffers = read_instance(path);
    ASSERT_FALSE(buffers.empty()) << path;
    const OffsetPlan plan = plan_offsets(buffers);
    expect_valid(buffers, plan);
    const double ratio =
        static_cast<double>(plan.arena_bytes) / static_cast<double>(live_peak(buffers).bytes);
    std::printf("%s: %zu buffers, arena %.3f of live\n", name, buffers.size(), ratio);
    // These orders and the climb reach this; the exact solver of the paper reaches the bound.
    EXPECT_LE(ratio, 1.27) << name;
  }
  if (found == 0) GTEST_SKIP() << "SKIPPED: " << folder << " is not here";
}

}  // namespace
}  // namespace sluice
