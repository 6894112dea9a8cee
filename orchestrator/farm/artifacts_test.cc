#include "orchestrator/farm/artifacts.h"

#include <deque>

#include "common/base/files.h"
#include "common/base/store.h"
#include "common/base/testing/test_folder.h"
#include "common/wire/farm_frames.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Two stores with a line of messages between them.
class ArtifactsTest : public ::testing::Test {
 protected:
  ArtifactsTest()
      : artifacts_(to_, [this](const std::string& peer, pb::Get get) {
          if (!is_there_) return false;
          asked_.emplace_back(peer, std::move(get));
          return true;
        }) {}

  Digest make(size_t bytes) {
    std::vector<std::byte> content(bytes);
    for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(i * 31 + i / 1000);
    return from_.keep(content);
  }

  // Answers all that was asked for, and what is asked for on the way.
  void answer() {
    while (!asked_.empty()) answer_one();
  }
  void answer_one() {
    const auto [peer, get] = asked_.front();
    asked_.pop_front();
    const PieceOfArtifact piece = read_piece(from_, get);
    artifacts_.take(peer, piece.message.piece(), piece.bytes.bytes);
    collect();
  }
  void pass_time() {
    now_ += milliseconds(1500);
    artifacts_.turn(now_);
    collect();
  }
  void collect() {
    for (Artifacts::Arrival& arrival : artifacts_.take_arrivals())
      arrivals_.push_back(std::move(arrival));
  }
  std::vector<Artifacts::Arrival> take_arrivals() {
    collect();
    return std::exchange(arrivals_, {});
  }
  std::string fault() {
    const auto arrivals = take_arrivals();
    return arrivals.size() == 1 ? arrivals[0].fault : "not one arrival";
  }
  std::string file(const Digest& digest) { return store_path(folder_.file("from"), digest); }

  const TestFolder folder_;
  Store from_{folder_.file("from")}, to_{folder_.file("to")};
  bool is_there_ = true;
  std::deque<std::pair<std::string, pb::Get>> asked_;
  Artifacts artifacts_;
  std::vector<Artifacts::Arrival> arrivals_;
  Artifacts::Clock::time_point now_ = Artifacts::Clock::now();
};

TEST_F(ArtifactsTest, ComeInPieces) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{wire::kMaxPieceBytes},
                             size_t{5} * wire::kMaxPieceBytes + 17}) {
    const Digest digest = make(bytes);
    EXPECT_FALSE(artifacts_.has(digest));
    artifacts_.want(digest, "a");
    answer();
    EXPECT_EQ(fault(), "") << bytes;
    EXPECT_TRUE(artifacts_.has(digest));
    EXPECT_TRUE(to_.find_artifact(digest)) << bytes;
  }
}

TEST_F(ArtifactsTest, LostDoubledAndDisorderedPiecesDoNoHarm) {
  const Digest digest = make(size_t{9} * wire::kMaxPieceBytes);
  artifacts_.want(digest, "a");
  for (int round = 0; arrivals_.empty() && round < 100; ++round) {
    if (asked_.size() > 2) asked_.erase(asked_.begin() + 1);  // lost
    if (!asked_.empty()) asked_.push_back(asked_.front());    // doubled
    if (asked_.size() > 3) std::swap(asked_.front(), asked_.back());
    for (size_t i = 0; i < 2 && !asked_.empty(); ++i) answer_one();
    if (asked_.empty()) pass_time();
  }
  EXPECT_EQ(fault(), "");
  EXPECT_TRUE(to_.find_artifact(digest));
}

TEST_F(ArtifactsTest, ATransferThatWasCutOffGoesOn) {
  const Digest digest = make(size_t{4} * wire::kMaxPieceBytes);
  artifacts_.want(digest, "a");
  answer_one();
  answer_one();
  std::deque<std::pair<std::string, pb::Get>> again;
  Artifacts later(to_, [&](const std::string& peer, pb::Get get) {
    again.emplace_back(peer, std::move(get));
    return true;
  });
  later.want(digest, "a");
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again.front().second.offset(), 2u * wire::kMaxPieceBytes);
}

TEST_F(ArtifactsTest, WhatIsLeftOfAnotherFileIsNotKept) {
  const Digest digest = make(100);
  ASSERT_TRUE(make_directories(folder_.file("to/partial")).ok());
  const std::string partial = folder_.file("to/partial/" + digest_hex(digest));
  ASSERT_TRUE(write_text(partial, std::string(500, 'x')).ok());
  artifacts_.want(digest, "a");
  answer();
  EXPECT_EQ(fault(), "");
  ASSERT_TRUE(write_text(partial, std::string(50, 'x')).ok());
  to_.keep(std::span<const std::byte>());
  artifacts_.forget(digest);
  artifacts_.want(digest, "a");
  answer();
  const auto arrivals = take_arrivals();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(arrivals[0].is_lie);
  artifacts_.want(digest, "a");
  answer();
  EXPECT_EQ(fault(), "") << "the second time from the beginning";
}

TEST_F(ArtifactsTest, WhoDoesNotHaveItIsGivenUpForTheNext) {
  const Digest digest = make(10), missing = sha256(std::string_view("nobody has it"));
  artifacts_.want(missing, "a");
  answer();
  const auto arrivals = take_arrivals();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(arrivals[0].is_absent);
  artifacts_.want(digest, "gone");
  artifacts_.want(digest, "b");
  asked_.clear();  // the first one does not answer
  for (int i = 0; i < 12 && arrivals_.empty(); ++i) {
    pass_time();
    if (!asked_.empty() && asked_.front().first == "gone") asked_.clear();
    answer();
  }
  EXPECT_EQ(fault(), "");
}

TEST_F(ArtifactsTest, APeerThatIsGoneIsNoReasonToWaitForEver) {
  const Digest digest = make(10);
  is_there_ = false;
  artifacts_.want(digest, "a");
  for (int i = 0; i < 12 && arrivals_.empty(); ++i) pass_time();
  EXPECT_EQ(fault(), "its owner does not answer");
}

TEST_F(ArtifactsTest, DamagedBytesAreALie) {
  const Digest digest = make(100);
  ASSERT_TRUE(write_text(file(digest), std::string(100, 'x')).ok());
  artifacts_.want(digest, "a");
  answer();
  const auto arrivals = take_arrivals();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(arrivals[0].is_lie);
  EXPECT_FALSE(artifacts_.has(digest));
  // Its owner is asked to check it, and deletes it.
  const pb::FarmMessage question = check_question(digest);
  EXPECT_TRUE(read_piece(from_, question.get()).message.piece().is_missing());
  EXPECT_FALSE(from_.find_artifact(digest));
}

// ---- referred to a holder

TEST_F(ArtifactsTest, AHolderIsAskedInPlaceOfThePeer) {
  const Digest digest = make(size_t{6} * wire::kMaxPieceBytes);
  artifacts_.want(digest, "a");
  answer_one();
  EXPECT_TRUE(artifacts_.refer(digest, "holder", 6u * wire::kMaxPieceBytes));
  EXPECT_FALSE(artifacts_.refer(digest, "other", 6u * wire::kMaxPieceBytes)) << "one at a time";
  std::erase_if(asked_, [](const auto& ask) { return ask.first == "a"; });
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(asked_.front().second.offset(), wire::kMaxPieceBytes) << "it goes on where it was";
  answer();
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(artifacts_.bytes_of_holders(), 5u * wire::kMaxPieceBytes);
}

TEST_F(ArtifactsTest, AHolderThatFailsIsReplacedByThePeer) {
  const uint64_t total = 6u * wire::kMaxPieceBytes;
  for (const char* how : {"silent", "missing", "closed"}) {
    const Digest digest = make(total - how[0]);
    artifacts_.want(digest, "a");
    asked_.clear();
    ASSERT_TRUE(artifacts_.refer(digest, "holder", total - how[0]));
    answer_one();
    asked_.clear();
    if (how == std::string("missing")) {
      pb::Piece piece;
      piece.set_digest(digest_field(digest));
      piece.set_is_missing(true);
      artifacts_.take("holder", piece, {});
    } else if (how == std::string("closed")) {
      artifacts_.give_up_holder("holder", "it is gone");
    } else {
      for (int i = 0; i < 2; ++i) pass_time();
      EXPECT_TRUE(artifacts_.take_failures().empty()) << "it has three attempts";
      asked_.clear();
      pass_time();
    }
    ASSERT_FALSE(asked_.empty()) << how;
    EXPECT_EQ(asked_.front().first, "a") << how;
    EXPECT_EQ(asked_.front().second.offset(), wire::kMaxPieceBytes) << how;
    EXPECT_EQ(asked_.front().second.here_only(), "holder") << how;
    answer();
    EXPECT_EQ(fault(), "") << how;
    EXPECT_EQ(artifacts_.take_failures().size(), 1u) << how;
  }
}

TEST_F(ArtifactsTest, ALieOfAHolderIsNotOneOfThePeer) {
  const uint64_t total = 3u * wire::kMaxPieceBytes;
  const Digest digest = make(total);
  artifacts_.want(digest, "a");
  asked_.clear();
  ASSERT_TRUE(artifacts_.refer(digest, "holder", total));
  std::vector<std::byte> other(wire::kMaxPieceBytes);
  pb::Piece piece;
  piece.set_digest(digest_field(digest));
  piece.set_total(total);
  artifacts_.take("holder", piece, other);
  artifacts_.give_up_holder("holder", "it is gone");  // found when the peer has given the others
  std::erase_if(asked_, [](const auto& ask) { return ask.first == "holder"; });
  answer();
  EXPECT_EQ(fault(), "");
  const auto failures = artifacts_.take_failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_TRUE(failures[1].is_lie);
  EXPECT_EQ(failures[1].holder, "holder");
}

TEST_F(ArtifactsTest, AHolderWhoseFileHasAnotherSizeIsNotBelieved) {
  const Digest digest = make(100000);
  artifacts_.want(digest, "a");
  asked_.clear();
  ASSERT_TRUE(artifacts_.refer(digest, "holder", 100000));
  pb::Piece piece;
  piece.set_digest(digest_field(digest));
  piece.set_total(uint64_t{1} << 40);
  artifacts_.take("holder", piece, std::vector<std::byte>(1000));
  std::erase_if(asked_, [](const auto& ask) { return ask.first == "holder"; });
  answer();
  EXPECT_EQ(fault(), "");
  EXPECT_TRUE(artifacts_.take_failures().at(0).is_lie);
}

TEST_F(ArtifactsTest, APeerMayAskForPatience) {
  const Digest digest = make(10);
  artifacts_.want(digest, "a");
  for (int i = 0; i < 30; ++i) {
    asked_.clear();
    artifacts_.wait(digest);
    pass_time();
    now_ = Artifacts::Clock::now();
  }
  EXPECT_TRUE(arrivals_.empty());
  answer();
  EXPECT_EQ(fault(), "");
}

TEST_F(ArtifactsTest, AStoreThatCannotBeWrittenIsSaid) {
  const Digest digest = make(10);
  Store nowhere("/proc/nowhere");
  Artifacts artifacts(nowhere, [](const std::string&, const pb::Get&) { return true; });
  artifacts.want(digest, "a");
  const auto arrivals = artifacts.take_arrivals();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_THAT(arrivals[0].fault, HasSubstr("cannot be written"));
  EXPECT_TRUE(arrivals[0].is_unkept);
}

}  // namespace
}  // namespace sluice
