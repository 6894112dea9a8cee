#include "orchestrator/farm/holders.h"

#include "common/base/testing/test_folder.h"
#include "gtest/gtest.h"
#include "orchestrator/farm/artifacts.h"

namespace sluice {
namespace {

using std::chrono::seconds;

class HoldersTest : public ::testing::Test {
 protected:
  HoldersTest() {
    for (const char* id : {"a", "b", "c", "d", "e"}) come(id);
  }
  FarmWorker& come(const std::string& id) {
    FarmWorker& worker = workers_.get(id);
    worker.id = id;
    workers_.connect(worker, "peer " + id, {});
    worker.beat.set_endpoint("at " + id);
    worker.beat.set_public_key("key " + id);
    return worker;
  }
  // Returns the answer to a worker: "bytes", "later", the endpoint of a holder; empty: nothing.
  std::string ask(const std::string& id, const std::string& here_only = {}) {
    pb::Get get;
    get.set_digest(digest_field(large_));
    get.set_bytes(1);
    get.set_here_only(here_only);
    said_.erase("peer " + id);
    return holders_.answer("peer " + id, get, now_) ? said(id) : "bytes";
  }
  std::string said(const std::string& id) { return said_["peer " + id]; }
  void got(const std::string& id, const Digest& digest) {
    FarmWorker& worker = workers_.get(id);
    worker.beat.clear_got();
    worker.beat.add_got(digest_field(digest));
    holders_.take_beat(worker, now_);
  }
  void got(const std::string& id) { got(id, large_); }
  void leave(const std::string& id) {
    workers_.remove(id, now_);
    holders_.remove(id);
  }

  const TestFolder folder_;
  Store store_{folder_.file("store")};
  const Digest large_ = store_.keep(std::vector<std::byte>(kMinShared));
  FarmWorkers workers_;
  FarmClock::time_point now_ = FarmClock::now();
  std::map<std::string, std::string> said_;
  Holders holders_{store_, workers_,
                   [this](const std::string& peer, const pb::FarmMessage& message) {
                     const pb::Piece& piece = message.piece();
                     EXPECT_TRUE(piece.is_later() || piece.total() == kMinShared);
                     EXPECT_EQ(piece.elsewhere_key().substr(0, 3), piece.is_later() ? "" : "key");
                     said_[peer] = piece.is_later() ? "later" : piece.elsewhere();
                   }};
};

TEST_F(HoldersTest, OneGetsItTheOthersGetItThere) {
  EXPECT_EQ(ask("a"), "bytes");
  EXPECT_EQ(ask("b"), "later");
  EXPECT_EQ(ask("a"), "bytes") << "the pieces after the first one";
  got("a");
  EXPECT_EQ(said("b"), "at a") << "as soon as it can";
  EXPECT_EQ(ask("c"), "at a");
  EXPECT_EQ(ask("d"), "later") << "a has two askers";
  got("b");
  EXPECT_EQ(said("d"), "at b") << "the one that waited longer";
  EXPECT_EQ(ask("e"), "at a");
}

TEST_F(HoldersTest, SmallArtifactsUnknownOnesAndStrangersAreNotReferred) {
  const Digest small = store_.keep(std::vector<std::byte>(kMinShared - 1));
  const Digest unknown = sha256(std::string_view("unknown"));
  for (const Digest& digest : {small, unknown}) {
    got("a", digest);
    pb::Get get;
    get.set_digest(digest_field(digest));
    get.set_bytes(1);
    EXPECT_FALSE(holders_.answer("peer b", get, now_));
  }
  got("a");
  EXPECT_EQ(ask("client"), "bytes");
  EXPECT_EQ(ask("b"), "at a");
}

TEST_F(HoldersTest, WhoServesNobodyIsNotWaitedFor) {
  workers_.get("a").beat.clear_endpoint();
  EXPECT_EQ(ask("a"), "bytes");
  EXPECT_EQ(ask("b"), "bytes");
  EXPECT_EQ(ask("a"), "later") << "but waits for others";
  got("b");
  EXPECT_EQ(said("a"), "at b");
}

TEST_F(HoldersTest, AHolderThatFailedIsNotReferredToAgain) {
  got("a");
  EXPECT_EQ(ask("b"), "at a");
  EXPECT_EQ(ask("b", "at a"), "bytes");
  EXPECT_EQ(ask("c"), "later") << "b gets it";
  got("b");
  EXPECT_EQ(said("c"), "at b");
}

TEST_F(HoldersTest, WorkersThatAreGoneLeavingOrBadAreNotReferredTo) {
  for (const char* id : {"a", "b", "c"}) got(id);
  workers_.get("a").is_reachable = false;
  workers_.get("b").beat.set_is_draining(true);
  workers_.get("c").is_excluded = true;
  EXPECT_EQ(ask("d"), "bytes");
  workers_.get("b").beat.set_is_draining(false);
  EXPECT_EQ(ask("e"), "at b");
  leave("b");
  EXPECT_EQ(ask("e"), "later");
}

TEST_F(HoldersTest, OneThatDoesNotGoOnIsNotWaitedForLong) {
  EXPECT_EQ(ask("a"), "bytes");
  EXPECT_EQ(ask("b"), "later");
  now_ += seconds(4);
  EXPECT_EQ(ask("b"), "bytes");
  EXPECT_EQ(ask("a"), "later");
  leave("b");
  EXPECT_EQ(ask("a"), "bytes");
}

TEST_F(HoldersTest, AnAskerOfWhichNothingIsHeardTakesNoPlaceForEver) {
  got("a");
  EXPECT_EQ(ask("b"), "at a");
  EXPECT_EQ(ask("b"), "at a") << "the answer was lost";
  EXPECT_EQ(ask("c"), "at a");
  EXPECT_EQ(ask("d"), "later");
  now_ += seconds(11);
  EXPECT_EQ(ask("d"), "at a");
}

TEST_F(HoldersTest, BytesAreCountedOnce) {
  FarmWorker worker = workers_.get("a");
  for (const uint64_t bytes : {100, 300, 200, 300}) {
    worker.beat.set_peer_bytes(bytes);
    holders_.take_beat(worker, now_);
  }
  leave("a");
  holders_.take_beat(worker, now_);
  EXPECT_EQ(holders_.bytes(), 300u);
}

}  // namespace
}  // namespace sluice
