#include "orchestrator/farm/farm_workers.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

using std::chrono::seconds;

class FarmWorkersTest : public ::testing::Test {
 protected:
  void come(const std::string& id) { workers_.get(id).id = id; }
  void begin(const std::string& id, const std::vector<Digest>& keys) {
    for (const uint64_t lease : workers_.give(workers_.get(id), keys))
      workers_.get(id).leases[lease].has_begun = true;
  }
  // Returns the blame of the first lease of a worker that is lost after so many seconds.
  Blame lose(const std::string& id, int after = 0) {
    return workers_.remove(id, now_ += seconds(after)).at(0).blame;
  }
  const Digest one_ = sha256(std::string_view("1")), two_ = sha256(std::string_view("2"));
  FarmWorkers workers_;
  FarmClock::time_point now_ = FarmClock::now();
};

TEST_F(FarmWorkersTest, AJobAloneIsBlamed) {
  for (const char* id : {"a", "b"}) {
    come(id);
    begin(id, {one_});
    EXPECT_EQ(lose(id), Blame::kAlone) << "also when it takes two";
  }
}

TEST_F(FarmWorkersTest, AKeyThatLiesIsExcludedWhereverItIs) {
  come("a");
  come("b");
  come("c");
  workers_.connect(workers_.get("a"), "peer-1", "node1");
  workers_.connect(workers_.get("b"), "peer-2", "node1");
  workers_.connect(workers_.get("c"), "peer-3", "node2");
  EXPECT_FALSE(workers_.count_lie("peer-1"));
  EXPECT_FALSE(workers_.count_lie("peer-2"));
  EXPECT_FALSE(workers_.count_lie("peer-3"));
  EXPECT_TRUE(workers_.get("a").takes_jobs());
  EXPECT_TRUE(workers_.count_lie("peer-1"));
  EXPECT_FALSE(workers_.get("a").takes_jobs());
  EXPECT_FALSE(workers_.get("b").takes_jobs());
  EXPECT_TRUE(workers_.get("c").takes_jobs());
  EXPECT_FALSE(workers_.count_lie("peer-1")) << "it is reported once";
  come("d");
  workers_.connect(workers_.get("d"), "peer-4", "node1");
  EXPECT_FALSE(workers_.get("d").takes_jobs()) << "also when it comes again";
}

TEST_F(FarmWorkersTest, WithoutKeysAConnectionIsExcluded) {
  come("a");
  come("b");
  workers_.connect(workers_.get("a"), "peer-1", "");
  workers_.connect(workers_.get("b"), "peer-2", "");
  for (int i = 0; i < 3; ++i) workers_.count_lie("peer-1");
  EXPECT_FALSE(workers_.get("a").takes_jobs());
  EXPECT_TRUE(workers_.get("b").takes_jobs());
}

TEST_F(FarmWorkersTest, TheLargestMemoryIsThatOfWorkersThatTakeJobs) {
  for (const char* id : {"a", "b"}) come(id);
  workers_.get("a").beat.set_memory_bytes(8);
  workers_.get("b").beat.set_memory_bytes(16);
  EXPECT_EQ(workers_.largest_memory(), 16u);
  workers_.get("b").is_reachable = false;
  EXPECT_EQ(workers_.largest_memory(), 8u);
}

TEST_F(FarmWorkersTest, JobsTogetherAreBlamedLess) {
  come("a");
  begin("a", {one_, two_});
  EXPECT_EQ(lose("a"), Blame::kTogether);
}

TEST_F(FarmWorkersTest, WhatHasNotBegunIsNotBlamed) {
  come("a");
  workers_.give(workers_.get("a"), {one_});
  EXPECT_EQ(lose("a"), Blame::kNone);
}

TEST_F(FarmWorkersTest, LossesOfOthersExcuseForAWhile) {
  for (const char* id : {"a", "b", "c"}) come(id);
  begin("a", {two_});
  begin("b", {one_});
  begin("c", {one_});
  lose("a");
  EXPECT_EQ(lose("b", 10), Blame::kExcused);
  EXPECT_EQ(lose("c", 10), Blame::kAlone);
}

TEST_F(FarmWorkersTest, AnIdleWorkerThatIsLostExcusesOneThatLeavesDoesNot) {
  for (const char* id : {"idle", "leaving", "a", "b"}) come(id);
  workers_.get("leaving").beat.set_is_draining(true);
  begin("a", {one_});
  begin("b", {one_});
  EXPECT_TRUE(workers_.remove("leaving", now_).empty());
  EXPECT_EQ(lose("a"), Blame::kAlone);
  EXPECT_TRUE(workers_.remove("idle", now_).empty());
  EXPECT_EQ(lose("b"), Blame::kExcused);
}

TEST_F(FarmWorkersTest, ALeaseHasOneHolder) {
  for (const char* id : {"a", "b"}) come(id);
  const uint64_t lease = workers_.give(workers_.get("a"), {one_}).at(0);
  EXPECT_TRUE(workers_.has("a", lease));
  EXPECT_FALSE(workers_.has("b", lease));
  workers_.free(lease);
  EXPECT_EQ(workers_.holder(lease), nullptr);
  EXPECT_TRUE(workers_.get("a").leases.empty());
}

}  // namespace
}  // namespace sluice
