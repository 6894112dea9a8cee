#include "orchestrator/farm/farm_job.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr uint64_t kMega = 1'000'000;

pb::WorkerBeat worker(uint64_t memory) {
  pb::WorkerBeat beat;
  beat.set_profile("x86-64-v3");
  beat.add_builds("build 12");
  beat.set_memory_bytes(memory);
  return beat;
}

TEST(CanRun, NeedsBuildsAndProfile) {
  EXPECT_TRUE(can_run(worker(kMega), "", kMega));
  EXPECT_TRUE(can_run(worker(kMega), "build 12\nprofile x86-64-v3\n", kMega));
  EXPECT_FALSE(can_run(worker(kMega), "build 1\n", kMega));
  EXPECT_FALSE(can_run(worker(kMega), "build 12\nprofile x86-64-v4\n", kMega));
}

TEST(CanRun, AJobThatLackedMemoryNeedsALargerWorker) {
  FarmJob job;
  job.needs = "build 12\n";
  need_more_memory(job, 4 * kMega);
  EXPECT_FALSE(can_run(worker(4 * kMega), job.needs, 8 * kMega));
  EXPECT_TRUE(can_run(worker(8 * kMega), job.needs, 8 * kMega));
  EXPECT_TRUE(can_run(worker(4 * kMega), job.needs, 4 * kMega)) << "there is no larger one";
  need_more_memory(job, 8 * kMega);
  EXPECT_EQ(job.needs, "build 12\nmemory 8000000\n") << "the last one counts";
  EXPECT_FALSE(can_run(worker(8 * kMega), job.needs, 16 * kMega));
}

}  // namespace
}  // namespace sluice
