#include "orchestrator/farm/job_board.h"

#include <filesystem>

#include "common/base/store.h"
#include "common/base/testing/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobBoardTest : public ::testing::Test {
 protected:
  JobBoardTest() { open(); }

  void open() {
    board_.reset();
    board_ = std::make_unique<JobBoard>(store_, artifacts_,
                                        FarmState::open(folder_.file("state"), false).value(),
                                        folder_.file("quarantine"), log_);
    ASSERT_TRUE(board_->load().ok());
  }
  // Submits the job of a number for a client, and returns its key.
  Digest submit(int number, const std::string& client, int32_t priority = 0) {
    Record record{"kernel", {}, {}};
    record.fields.add("build", "b");
    record.fields.add("specification", sha256(std::to_string(number)));
    record.results.add("graph", store_.keep(std::as_bytes(std::span("graph"))));
    pb::FarmJob job;
    job.set_record(record_text(record));
    job.set_priority(priority);
    EXPECT_TRUE(board_->submit(board_->client(client, client, "peer"), *farm_job_of(job)).ok());
    return record.key();
  }
  std::vector<Digest> take() {
    return board_->take([](const std::string&) { return true; },
                        [](const std::string&) { return size_t{1}; });
  }
  // The job begins, and its worker is lost.
  void lose(const Digest& key, Blame blame) {
    board_->begin(*board_->find(key), ++lease_);
    ASSERT_TRUE(board_->lose(*board_->find(key), lease_, blame).ok());
  }
  FarmJob::State state(const Digest& key) { return board_->find(key)->state; }

  const TestFolder folder_;
  const FarmLog log_{"test", false, 0};
  Store store_{folder_.file("store")};
  Artifacts artifacts_{store_, [](const std::string&, const pb::Get&) { return true; }};
  std::unique_ptr<JobBoard> board_;
  uint64_t lease_ = 0;
};

TEST_F(JobBoardTest, EqualJobsOfTwoClientsAreOne) {
  const Digest key = submit(1, "a");
  EXPECT_EQ(submit(1, "b"), key);
  EXPECT_THAT(take(), ElementsAre(key));
  EXPECT_THAT(take(), IsEmpty());
  ASSERT_TRUE(board_->end(*board_->find(key), failed_end(key, ExitClass::kBadInput, "no")).ok());
  for (const char* client : {"a", "b"}) EXPECT_EQ(board_->find_client(client)->ended, 1u);
}

TEST_F(JobBoardTest, AHigherPriorityOfASecondClientCounts) {
  const Digest first = submit(1, "a"), second = submit(2, "a");
  EXPECT_EQ(submit(2, "b", 5), second);
  EXPECT_THAT(take(), ElementsAre(second));
  board_->begin(*board_->find(second), 1);
  EXPECT_THAT(take(), ElementsAre(first));
  EXPECT_THAT(take(), IsEmpty()) << "it is not taken twice";
}

TEST_F(JobBoardTest, ThreeLossesAloneQuarantineAJob) {
  const Digest key = submit(1, "a");
  for (int i = 0; i < kMaxLossesAlone; ++i) {
    EXPECT_EQ(state(key), FarmJob::State::kReady);
    lose(key, Blame::kAlone);
  }
  EXPECT_EQ(state(key), FarmJob::State::kQuarantined);
  EXPECT_EQ(board_->find_client("a")->ended, 1u);
  EXPECT_TRUE(Store(folder_.file("quarantine")).find_job(key)) << "it can be run again there";
  ASSERT_TRUE(board_->release(key).ok());
  EXPECT_EQ(board_->find(key), nullptr);
  EXPECT_EQ(submit(1, "b"), key);
  EXPECT_EQ(state(key), FarmJob::State::kReady);
}

TEST_F(JobBoardTest, AProductThatIsGoneIsMadeAgain) {
  const Digest key = submit(1, "a");
  Record product = *parse_record(board_->find(key)->record);
  const Digest object = store_.keep(std::as_bytes(std::span("object")));
  product.results = {};
  product.results.add("object", digest_hex(object));
  pb::JobEnd end;
  end.set_record(record_text(product));
  ASSERT_TRUE(board_->end(*board_->find(key), end).ok());
  submit(1, "b");
  EXPECT_EQ(board_->find_client("b")->ended, 1u);
  std::filesystem::remove(store_path(store_.path(), object));
  artifacts_.forget_all();
  submit(1, "b");
  EXPECT_EQ(state(key), FarmJob::State::kEnded) << "the end was reported to it, or will be";
  submit(1, "c");
  EXPECT_EQ(state(key), FarmJob::State::kReady);
  submit(1, "a");  // a message that was late
  for (int start = 0; start < 2; ++start) {
    const pb::Ended ends = next_ends(*board_->find_client("a"), board_->jobs());
    ASSERT_EQ(ends.jobs_size(), 1);
    EXPECT_EQ(ends.jobs(0).key(), digest_field(key));
    EXPECT_EQ(ends.jobs(0).record(), "") << "so that it returns";
    ASSERT_TRUE(board_->commit().ok());
    open();
  }
  ASSERT_TRUE(board_->remove_client("a").ok());
  EXPECT_EQ(state(key), FarmJob::State::kReady) << "c requested it";
}

TEST_F(JobBoardTest, LossesBesideOthersLeadToRunningAlone) {
  const Digest key = submit(1, "a");
  const auto fits = [](const std::string&) { return true; };
  for (int i = 0; i < kMaxLosses; ++i) {
    EXPECT_FALSE(board_->find_alone(fits));
    lose(key, Blame::kTogether);
  }
  EXPECT_EQ(board_->find_alone(fits), key);
  board_->begin(*board_->find(key), 99);
  EXPECT_FALSE(board_->find_alone(fits));
}

TEST_F(JobBoardTest, ExcusedLossesDoNot) {
  const Digest key = submit(1, "a");
  for (int i = 0; i < 2 * kMaxLosses; ++i) lose(key, Blame::kExcused);
  EXPECT_EQ(state(key), FarmJob::State::kReady);
  EXPECT_FALSE(board_->has_alone());
}

TEST_F(JobBoardTest, WhatIsCommittedIsThereAfterAStart) {
  const Digest open_job = submit(1, "a"), ended = submit(2, "a");
  ASSERT_TRUE(
      board_->end(*board_->find(ended), failed_end(ended, ExitClass::kBadInput, "no")).ok());
  ASSERT_TRUE(board_->commit().ok());
  submit(3, "a");  // not committed
  open();
  EXPECT_EQ(board_->jobs().size(), 2u);
  EXPECT_EQ(state(open_job), FarmJob::State::kReady);
  FarmClient& client = *board_->find_client("a");
  EXPECT_EQ(client.ended, 1u);
  ASSERT_TRUE(board_->take_seen(client, 1).ok());
  EXPECT_EQ(board_->find(ended), nullptr) << "no client requests it any more";
  ASSERT_TRUE(board_->remove_client("a").ok());
  EXPECT_TRUE(board_->jobs().empty());
}

TEST_F(JobBoardTest, TransientFailuresAreBounded) {
  const Digest key = submit(1, "a");
  const auto end = failed_end(key, ExitClass::kResource, "no space");
  for (int i = 1; i < kMaxFailures; ++i) {
    ASSERT_TRUE(board_->retry(*board_->find(key), end).ok());
    EXPECT_EQ(state(key), FarmJob::State::kWaiting);
    ASSERT_TRUE(board_->turn(FarmClock::now() + std::chrono::minutes(1)).ok());
    EXPECT_EQ(state(key), FarmJob::State::kReady);
  }
  ASSERT_TRUE(board_->retry(*board_->find(key), end).ok());
  EXPECT_EQ(state(key), FarmJob::State::kEnded);
}

}  // namespace
}  // namespace sluice
