#include "orchestrator/farm/dispatch.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/farm/testing/dispatch_bed.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- one job

TEST_F(DispatchTest, AJobGoesToAWorkerAndItsEndToTheClient) {
  submit("alice", {1});
  EXPECT_THAT(sent_to("alice", pb::FarmMessage::kAccepted), SizeIs(1));
  come("w");
  EXPECT_THAT(jobs_of("w"), ElementsAre(1));
  EXPECT_THAT(ends_of("alice"), IsEmpty());
  done("w", only_lease("w"));
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kDoneTaken), SizeIs(1));
}

TEST_F(DispatchTest, AFailureEndsTheJobWithItsCode) {
  come("w");
  submit("alice", {1});
  done("w", only_lease("w"), 4);
  EXPECT_THAT(ends_of("alice"), ElementsAre(4u));
}

TEST_F(DispatchTest, WhatWasSubmittedTwiceIsOneJobAndAcceptedTwice) {
  come("w", 4);
  submit("alice", {1});
  submit("alice", {1});
  EXPECT_THAT(sent_to("alice", pb::FarmMessage::kAccepted), SizeIs(2));
  EXPECT_THAT(jobs_of("w"), ElementsAre(1));
}

TEST_F(DispatchTest, EqualJobsOfTwoClientsRunOnce) {
  come("w", 4);
  submit("alice", {1});
  submit("bob", {1});
  EXPECT_THAT(jobs_of("w"), ElementsAre(1));
  done("w", only_lease("w"));
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
  EXPECT_THAT(ends_of("bob"), ElementsAre(0u));
}

TEST_F(DispatchTest, AnEndIsToldAgainUntilTheClientHasIt) {
  come("w");
  submit("alice", {1});
  done("w", only_lease("w"));
  for (int i = 0; i < 3; ++i) {
    client_beat("alice", 0);
    pass(seconds(2), {"w"});
  }
  EXPECT_GE(sent_to("alice", pb::FarmMessage::kEnded).size(), 3u);
  client_beat("alice", 1);
  const size_t told = sent_to("alice", pb::FarmMessage::kEnded).size();
  pass(seconds(4), {"w"});
  EXPECT_EQ(sent_to("alice", pb::FarmMessage::kEnded).size(), told);
}

TEST_F(DispatchTest, ADoneThatComesTwiceIsAnsweredTwice) {
  come("w");
  submit("alice", {1});
  const uint64_t lease = only_lease("w");
  done("w", lease, 4);
  done("w", lease, 4);
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kDoneTaken), SizeIs(2));
  EXPECT_THAT(ends_of("alice"), ElementsAre(4u));
}

TEST_F(DispatchTest, AnAssignThatWasLostIsSentAgain) {
  come("w");
  submit("alice", {1});
  ASSERT_THAT(sent_to("w", pb::FarmMessage::kAssign), SizeIs(1));
  read_ = sent_.size();  // nothing of it came
  beat("w");
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kAssign), SizeIs(1)) << "not at once";
  now_ += seconds(2);
  beat("w");
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kAssign), SizeIs(2));
}

TEST_F(DispatchTest, ALeaseThatNobodyKnowsIsRevoked) {
  come("w");
  leases_["w"].push_back(99);
  key_of_lease_[99] = digest_field(record_of(1).key());
  beat("w");
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kRevoke), SizeIs(1));
  EXPECT_THAT(leases_["w"], IsEmpty());
}

// ---- workers that are lost

class Silence : public DispatchTest, public ::testing::WithParamInterface<int> {};

TEST_P(Silence, AWorkerIsLostAfterFiveHeartbeats) {
  const int half_seconds = GetParam();
  come("w");
  submit("alice", {1});
  come("v");
  ASSERT_THAT(jobs_of("w"), ElementsAre(1));
  pass(milliseconds(500 * half_seconds), {"v"});
  const bool is_lost = half_seconds > 10;
  EXPECT_EQ(jobs_of("v").size(), is_lost ? 1u : 0u);
}
INSTANTIATE_TEST_SUITE_P(Dispatch, Silence, ::testing::Range(2, 18));

TEST_F(DispatchTest, AWorkerThatNothingReachesIsLostSooner) {
  come("w");
  submit("alice", {1});
  come("v");
  gone_.insert("at w");
  beat("w");  // whose answer does not arrive
  pass(milliseconds(2500), {"v"});
  EXPECT_THAT(jobs_of("v"), ElementsAre(1));
}

TEST_F(DispatchTest, WhatALostWorkerMadeCountsAllTheSame) {
  come("w");
  submit("alice", {1});
  const uint64_t lease = only_lease("w");
  pass(seconds(6), {});
  done("w", lease);
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
}

TEST_F(DispatchTest, HowAJobOfALostWorkerFailedDoesNotCount) {
  come("w");
  submit("alice", {1});
  const uint64_t lease = only_lease("w");
  pass(seconds(6), {});
  done("w", lease, 4);
  EXPECT_THAT(ends_of("alice"), IsEmpty());
}

TEST_F(DispatchTest, AJobThatTakesThreeWorkersAloneIsQuarantined) {
  submit("alice", {1});
  for (int i = 0; i < 3 && ends_of("alice").empty(); ++i) {
    const std::string worker = "w" + std::to_string(i);
    come(worker);
    ASSERT_THAT(jobs_of(worker), ElementsAre(1)) << worker;
    beat(worker);
    pass(seconds(6), {});
  }
  EXPECT_THAT(ends_of("alice"), SizeIs(1));
  EXPECT_NE(ends_of("alice")[0], 0u);
}

TEST_F(DispatchTest, AWorkerThatDrainsGivesBackWhatItDoesNotHave) {
  come("w");
  submit("alice", {1});
  ASSERT_THAT(jobs_of("w"), ElementsAre(1));
  leases_["w"].clear();  // it was draining when the assignment came
  come("v");
  beat("w", 1, true);
  turn(milliseconds(200));
  EXPECT_THAT(jobs_of("v"), ElementsAre(1));
}

// ---- failures that may pass

class Transient : public DispatchTest, public ::testing::WithParamInterface<int> {};

TEST_P(Transient, AJobIsTriedFourTimesAfterLongerAndLongerPauses) {
  const int failures = GetParam();
  come("w");
  submit("alice", {1});
  const auto transient = [](pb::Done& done) { done.set_is_transient(true); };
  for (int i = 0; i < failures; ++i) {
    ASSERT_THAT(jobs_of("w"), SizeIs(1)) << i;
    done("w", only_lease("w"), 5, transient);
    EXPECT_THAT(jobs_of("w"), IsEmpty()) << "a pause comes first";
    pass(seconds(1 << i) + milliseconds(1000), {"w"});
  }
  if (failures < 4) {
    ASSERT_THAT(jobs_of("w"), SizeIs(1));
    done("w", only_lease("w"));
    EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
  } else {
    EXPECT_THAT(ends_of("alice"), ElementsAre(5u));
  }
}
INSTANTIATE_TEST_SUITE_P(Dispatch, Transient, ::testing::Range(0, 5));

TEST_F(DispatchTest, AJobThatLacksMemoryGoesToALargerWorker) {
  come("small");
  memory_["large"] = 4000;
  submit("alice", {1});
  done("small", only_lease("small"), 5, [](pb::Done& done) {
    done.set_is_transient(true);
    done.set_lacks_memory(true);
  });
  come("large");
  pass(seconds(3), {"small", "large"});
  EXPECT_THAT(jobs_of("small"), IsEmpty());
  EXPECT_THAT(jobs_of("large"), ElementsAre(1));
}

// ---- who gets what

class Shares : public DispatchTest, public ::testing::WithParamInterface<std::tuple<int, int>> {};

TEST_P(Shares, OwnersTakeTurnsWhateverTheyHaveSubmitted) {
  const auto [few, many] = GetParam();
  std::vector<int> of_alice, of_bob;
  for (int i = 0; i < many; ++i) of_alice.push_back(i);
  for (int i = 0; i < few; ++i) of_bob.push_back(1000 + i);
  submit("alice", of_alice);
  submit("bob", of_bob);
  come("w");
  int begun_of_bob = 0, begun = 0;
  while (begun_of_bob < few && begun < few + many) {
    for (const int job : jobs_of("w")) {
      begun_of_bob += job >= 1000 ? 1 : 0;
      ++begun;
    }
    ASSERT_THAT(jobs_of("w"), ::testing::Not(IsEmpty()));
    const std::vector<uint64_t> leases = leases_["w"];
    for (const uint64_t lease : leases) done("w", lease, 4);
  }
  // Jobs that share a process are of one owner, so turns are of whole processes.
  EXPECT_LE(begun, 2 * few + 34) << "bob's few jobs do not wait for all of alice's";
}
INSTANTIATE_TEST_SUITE_P(Dispatch, Shares,
                         ::testing::Combine(::testing::Values(1, 2, 5, 9),
                                            ::testing::Values(60, 120, 200)));

TEST_F(DispatchTest, HigherPrioritiesComeFirst) {
  submit("alice", {1});
  submit("bob", {2}, 5);
  come("w");
  EXPECT_THAT(jobs_of("w"), ElementsAre(2));
}

TEST_F(DispatchTest, AJobThatNoWorkerCanRunIsToldToItsClient) {
  pb::FarmMessage message = submission("alice", {});
  Record record = record_of(1);
  record.fields.add("profile", "native cpu-none");
  message.mutable_submit()->add_jobs()->set_record(record_text(record));
  take("at alice", message);
  come("w");
  for (int i = 0; i < 40; ++i) {
    pass(seconds(1), {"w"});
    client_beat("alice", 0);
  }
  EXPECT_THAT(jobs_of("w"), IsEmpty());
  const auto told = sent_to("alice", pb::FarmMessage::kUnfit);
  ASSERT_THAT(told, ::testing::Not(IsEmpty()));
  EXPECT_THAT(told[0].unfit().why(), HasSubstr("cpu-none"));
}

TEST_F(DispatchTest, AStragglerIsCopiedAndTheFirstProductCounts) {
  come("w");
  submit("alice", {1});
  const uint64_t lease = only_lease("w");
  come("v");
  pass(seconds(12), {"w", "v"});
  ASSERT_THAT(jobs_of("v"), ElementsAre(1));
  done("v", only_lease("v"));
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kRevoke), SizeIs(1));
  done("w", lease);
  EXPECT_THAT(ends_of("alice"), SizeIs(1));
}

TEST_F(DispatchTest, NoCopyWhileSomethingElseIsReady) {
  come("w");
  submit("alice", {1});
  pass(seconds(12), {"w"});
  submit("alice", {2}, 0, 2);
  come("v");
  EXPECT_THAT(jobs_of("v"), ElementsAre(2));
}

class Slots : public DispatchTest, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(Slots, AWorkerHasAsManyProcessesAsSlots) {
  come("w", GetParam());
  std::vector<int> jobs;
  for (int i = 0; i < 400; ++i) jobs.push_back(i);
  submit("alice", jobs);
  turn(milliseconds(100));
  const auto assigned = sent_to("w", pb::FarmMessage::kAssign);
  EXPECT_GE(assigned.size(), GetParam());
  EXPECT_LE(assigned.size(), GetParam() + 1) << "one more waits in front of the slots";
}
INSTANTIATE_TEST_SUITE_P(Dispatch, Slots, ::testing::Values(1u, 2u, 3u, 4u, 8u));

// ---- clients and releases

TEST_F(DispatchTest, JobsOfAClientThatLeavesAreDropped) {
  submit("alice", {1});
  client_beat("alice", 0, true);
  come("w");
  EXPECT_THAT(jobs_of("w"), IsEmpty());
  EXPECT_EQ(dispatch_->jobs(), 0u);
}

TEST_F(DispatchTest, AClientThatIsNotKnownSubmitsAgain) {
  client_beat("alice", 3);
  const auto told = sent_to("alice", pb::FarmMessage::kEnded);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].ended().has_lost_client());
}

TEST_F(DispatchTest, AFullDispatcherTakesNothingNew) {
  max_jobs_ = 2;
  start();
  submit("alice", {1, 2});
  submit("bob", {3});
  submit("carol", {1});
  EXPECT_TRUE(sent_to("bob", pb::FarmMessage::kAccepted)[0].accepted().is_full());
  EXPECT_FALSE(sent_to("carol", pb::FarmMessage::kAccepted)[0].accepted().is_full());
}

TEST_F(DispatchTest, AnotherReleaseIsRefused) {
  pb::FarmMessage message = submission("alice", {1});
  message.mutable_submit()->set_release("sluice 9.9.9");
  take("at alice", message);
  const auto told = sent_to("alice", pb::FarmMessage::kRefused);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0].refused().message(), HasSubstr("sluice 9.9.9"));
  EXPECT_EQ(dispatch_->jobs(), 0u);
}

TEST_F(DispatchTest, ADamagedRecordIsRefused) {
  pb::FarmMessage message = submission("alice", {});
  message.mutable_submit()->add_jobs()->set_record("no record");
  take("at alice", message);
  EXPECT_THAT(sent_to("alice", pb::FarmMessage::kRefused), SizeIs(1));
}

TEST_F(DispatchTest, AProductOfAnotherJobIsNotAccepted) {
  come("w");
  submit("alice", {1});
  done("w", only_lease("w"), 0, [&](pb::Done& done) {
    done.mutable_end()->set_record(product_text(record_text(record_of(2))));
  });
  EXPECT_THAT(ends_of("alice"), IsEmpty());
}

TEST_F(DispatchTest, AProductThatNeverComesIsMadeAgain) {
  come("liar");
  submit("alice", {1});
  done("liar", only_lease("liar"), 0, [&](pb::Done& done) {
    Record product = *parse_record(done.end().record());
    product.results = {};
    product.results.add("object", sha256("what it never sends"));
    done.mutable_end()->set_record(record_text(product));
  });
  EXPECT_GT(sent_to("liar", pb::FarmMessage::kGet).size(), 0u);
  EXPECT_THAT(jobs_of("liar"), IsEmpty());
  pass(seconds(20), {"liar"});
  EXPECT_THAT(ends_of("alice"), IsEmpty());
  EXPECT_THAT(jobs_of("liar"), ElementsAre(1));
  done("liar", only_lease("liar"));
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
}

TEST_F(DispatchTest, ADrainedDispatcherEndsWhenAllIsKnown) {
  come("w");
  submit("alice", {1});
  pb::FarmMessage drain;
  drain.mutable_drain();
  take("at operator", drain);
  submit("bob", {2});
  EXPECT_TRUE(sent_to("bob", pb::FarmMessage::kAccepted)[0].accepted().is_full());
  done("w", only_lease("w"));
  turn(seconds(1));
  EXPECT_FALSE(dispatch_->is_over());
  client_beat("alice", 1);
  turn(seconds(4));
  EXPECT_TRUE(dispatch_->is_over());
}

TEST_F(DispatchTest, AnotherStartGoesOnWithWhatWorkersHave) {
  come("w");
  submit("alice", {1});
  const uint64_t lease = only_lease("w");
  start();
  beat("w");
  EXPECT_THAT(leases_["w"], ElementsAre(lease)) << "it is not revoked";
  EXPECT_THAT(sent_to("w", pb::FarmMessage::kAssign), SizeIs(1)) << "nor given again";
  client_beat("alice", 0);
  done("w", lease);
  EXPECT_THAT(ends_of("alice"), ElementsAre(0u));
}

// ---- everything at once

// Clients and workers on a network that loses and repeats messages, with workers that die and
// dispatchers that start again: every client gets the end of each of its jobs, and no other. A
// submission that is repeated after its jobs have ended runs them again, which a client ignores.
class Weather : public DispatchTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

  void move_worker(const std::string& worker) {
    if (chance(2)) {  // it dies, and another one comes in its place
      leases_.erase(worker);
      return;
    }
    const std::vector<uint64_t> leases = leases_[worker];
    for (const uint64_t lease : leases) {
      if (!chance(30)) continue;
      const int code = chance(10) ? 4 : 0;
      const auto transient = [&](pb::Done& done) { done.set_is_transient(code != 0); };
      done(worker, lease, code, transient);
      if (chance(20)) done(worker, lease, code, transient);
    }
    if (!chance(15)) beat(worker, 2);
  }

  void move_client(const std::string& client, std::vector<int> jobs) {
    const auto ends = ends_of(client).size();
    const bool is_accepted = !sent_to(client, pb::FarmMessage::kAccepted).empty() && chance(30);
    if (is_accepted) accepted_.insert(client);  // the answer before may have been lost
    if (!accepted_.contains(client) && chance(40))
      take("at " + client, submission(client, std::move(jobs)));
    if (chance(60)) client_beat(client, ends);
  }

  // The numbers of the jobs whose ends a client was told.
  std::set<int> ended_of(const std::string& client) const {
    std::set<int> numbers;
    for (const pb::FarmMessage& message : sent_to(client, pb::FarmMessage::kEnded))
      for (const pb::JobEnd& end : message.ended().jobs()) numbers.insert(numbers_.at(end.key()));
    return numbers;
  }

  std::mt19937 random_{GetParam()};
  std::set<std::string> accepted_;
};

TEST_P(Weather, EveryJobEndsForEachWhoWantsIt) {
  const std::set<int> of_alice{1, 2, 3, 4, 5, 6}, of_bob{5, 6, 7, 8};
  const auto is_over = [&] { return ended_of("alice") == of_alice && ended_of("bob") == of_bob; };
  for (int step = 0; step < 400 && !is_over(); ++step) {
    if (chance(2)) start();
    for (const char* worker : {"u", "v", "w"}) move_worker(worker);
    move_client("alice", {of_alice.begin(), of_alice.end()});
    move_client("bob", {of_bob.begin(), of_bob.end()});
    turn(milliseconds(100 + random_() % 900));
    take_assigned();
  }
  EXPECT_EQ(ended_of("alice"), of_alice);
  EXPECT_EQ(ended_of("bob"), of_bob);
  client_beat("alice", 0, true);
  client_beat("bob", 0, true);
  for (const char* worker : {"u", "v", "w"}) leases_[worker].clear();
  pass(seconds(4), {"u", "v", "w"});
  pass(seconds(6), {});
  EXPECT_EQ(dispatch_->jobs(), 0u) << "what nobody wants is gone";
}
INSTANTIATE_TEST_SUITE_P(Dispatch, Weather, ::testing::Range(1u, 41u));

}  // namespace
}  // namespace sluice
