#include "orchestrator/farm/ready_queue.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest key(int number) { return sha256(std::to_string(number)); }

std::vector<Digest> take(ReadyQueue& queue, size_t count = 1, const std::string& needs = "") {
  return queue.take([&](const std::string& wanted) { return wanted == needs; },
                    [&](const std::string&) { return count; });
}

TEST(ReadyQueueTest, OfOneOwnerJobsAreTakenAsTheyCame) {
  ReadyQueue queue;
  for (int i = 0; i < 3; ++i) queue.put(key(i), {.owner = "a"});
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_THAT(take(queue, 2), ElementsAre(key(0), key(1)));
  EXPECT_THAT(take(queue, 2), ElementsAre(key(2)));
  EXPECT_THAT(take(queue), IsEmpty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ReadyQueueTest, OwnersTakeTurnsWhateverTheNumberOfTheirJobs) {
  ReadyQueue queue;
  for (int i = 0; i < 100; ++i) queue.put(key(i), {.owner = "many"});
  queue.put(key(1000), {.owner = "few"});
  queue.put(key(1001), {.owner = "few"});
  EXPECT_THAT(take(queue), ElementsAre(key(0)));
  EXPECT_THAT(take(queue), ElementsAre(key(1000)));
  EXPECT_THAT(take(queue), ElementsAre(key(1)));
  EXPECT_THAT(take(queue), ElementsAre(key(1001)));
  EXPECT_THAT(take(queue, 2), ElementsAre(key(2), key(3)));
}

TEST(ReadyQueueTest, AHigherPriorityComesFirst) {
  ReadyQueue queue;
  queue.put(key(0), {.priority = 0, .owner = "a"});
  queue.put(key(1), {.priority = 7, .owner = "b"});
  queue.put(key(2), {.priority = -1, .owner = "a"});
  EXPECT_THAT(take(queue), ElementsAre(key(1)));
  EXPECT_THAT(take(queue), ElementsAre(key(0)));
  EXPECT_THAT(take(queue), ElementsAre(key(2)));
}

TEST(ReadyQueueTest, AWorkerGetsWhatItSatisfiesPastWhatItDoesNot) {
  ReadyQueue queue;
  queue.put(key(0), {.priority = 1, .owner = "a", .needs = "avx512"});
  queue.put(key(1), {.owner = "a", .needs = "avx2"});
  EXPECT_THAT(take(queue, 1, "avx2"), ElementsAre(key(1)));
  EXPECT_THAT(take(queue, 1, "avx2"), IsEmpty());
  EXPECT_THAT(take(queue, 1, "avx512"), ElementsAre(key(0)));
}

TEST(ReadyQueueTest, KindsAreNotTakenTogether) {
  ReadyQueue queue;
  queue.put(key(0), {.owner = "a", .kind = "kernel"});
  queue.put(key(1), {.owner = "a", .kind = "compile"});
  queue.put(key(2), {.owner = "a", .kind = "kernel"});
  EXPECT_THAT(take(queue, 8), ElementsAre(key(0), key(2)));
  EXPECT_THAT(take(queue, 8), ElementsAre(key(1)));
}

}  // namespace
}  // namespace sluice
