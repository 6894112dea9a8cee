#include "common/omcheck/stream_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/omfile/testing/three_streams.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::make_three_streams;
using testing::ModelBuilder;

std::vector<StreamConflict> conflicts_of(const pb::ModelDef& model) {
  return find_stream_conflicts(model, model.parts(0).fixed());
}

TEST(StreamChecker, AcceptsThreeStreams) {
  EXPECT_THAT(conflicts_of(make_three_streams()), ::testing::IsEmpty());
}

TEST(StreamChecker, NamesLaunchesAndBytesForEachEventDeleted) {
  const pb::ModelDef model = make_three_streams();
  struct Expected {
    uint32_t event;
    const char* first;
    const char* second;
    const char* bytes;
  };
  // The pair of tasks that only the event ordered: producer and consumer of the value handed over.
  const Expected expected[] = {
      {0, "'a19' (task 19, stream 'a')", "'b0' (task 61, stream 'b')",
       "bytes [0, 1024) of the arena"},
      {1, "'a39' (task 40, stream 'a')", "'c0' (task 128, stream 'c')",
       "bytes [1024, 2048) of the arena"},
      {2, "'b29' (task 92, stream 'b')", "'a60' (task 195, stream 'a')",
       "bytes [2048, 3072) of the arena"},
      {3, "'c64' (task 194, stream 'c')", "'a69' (task 205, stream 'a')",
       "bytes [7168, 8192) of the arena"},
  };
  for (const Expected& e : expected) {
    const auto conflicts = conflicts_of(testing::without_event(model, e.event));
    ASSERT_FALSE(conflicts.empty()) << "event " << e.event;
    bool found = false;
    for (const StreamConflict& conflict : conflicts) {
      found = found || (conflict.text.find(e.first) != std::string::npos &&
                        conflict.text.find(e.second) != std::string::npos &&
                        conflict.text.find(e.bytes) != std::string::npos);
    }
    EXPECT_TRUE(found) << "event " << e.event << ": " << conflicts[0].text << " (of "
                       << conflicts.size() << ")";
  }
}

TEST(StreamChecker, OrdersThroughAThirdStream) {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {16});
  const uint32_t value = b.arena_value("v", type);
  const uint32_t kernel = b.test_kernel("k", 1);
  const uint32_t s[3] = {b.stream("s0"), b.stream("s1"), b.stream("s2")};
  const uint32_t e[2] = {b.event("e0"), b.event("e1")};
  b.launch("write", s[0], kernel, {value}, {});
  b.record(s[0], e[0]);
  b.wait(s[1], e[0]);
  b.record(s[1], e[1]);
  b.wait(s[2], e[1]);
  b.launch("read", s[2], kernel, {}, {value});
  EXPECT_THAT(conflicts_of(b.model), ::testing::IsEmpty());
  EXPECT_EQ(conflicts_of(testing::without_event(b.model, 0)).size(), 1u);
}

TEST(StreamChecker, TwoReadersAreNoConflictAndOverlapIsOfBytes) {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kU8, {100});
  const uint32_t first = b.value("first", type, pb::REGION_ARENA, 0);
  const uint32_t second = b.value("second", type, pb::REGION_ARENA, 64);
  const uint32_t kernel = b.test_kernel("k", 1);
  const uint32_t s[2] = {b.stream("s0"), b.stream("s1")};
  b.launch("r0", s[0], kernel, {}, {first});
  b.launch("r1", s[1], kernel, {}, {second});
  EXPECT_THAT(conflicts_of(b.model), ::testing::IsEmpty());
  b.launch("w1", s[1], kernel, {second}, {});
  const auto conflicts = conflicts_of(b.model);
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_EQ(conflicts[0].begin, 64u);
  EXPECT_EQ(conflicts[0].end, 100u);
  EXPECT_THAT(conflicts[0].text, HasSubstr("'r0' (task 0, stream 's0') and 'w1' (task 2, stream "
                                           "'s1') may overlap and share bytes [64, 100)"));
}

TEST(StreamChecker, WritersBetweenEachOthersRowsShareNoBytes) {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {4, 8}), whole = b.type(DType::kF32, {4, 16});
  const uint32_t first = b.value("first", type, pb::REGION_ARENA, 0);
  const uint32_t second = b.value("second", type, pb::REGION_ARENA, 32);
  for (const uint32_t value : {first, second}) b.set_capacity(value, 0, whole);
  const uint32_t kernel = b.test_kernel("k", 1);
  b.launch("one", b.stream("s0"), kernel, {first}, {});
  b.launch("two", b.stream("s1"), kernel, {second}, {});
  EXPECT_THAT(conflicts_of(b.model), ::testing::IsEmpty());
  b.part().set_value_offset(static_cast<int>(second), 28);
  EXPECT_EQ(conflicts_of(b.model).size(), 1u);
}

// A drawn part: the tasks of each stream, and what must be done before each, found by walking all
// paths of the order of streams and of events.
class DrawnPart {
 public:
  explicit DrawnPart(uint32_t seed) : random_(seed) {
    const uint32_t type = b_.type(DType::kU8, {100});
    for (uint32_t i = 0; i < 5; ++i)
      values_.push_back(b_.value("v" + std::to_string(i), type, pb::REGION_ARENA, i * 64));
    for (uint32_t s = 0; s < 4; ++s) streams_.push_back(b_.stream("s" + std::to_string(s)));
    const uint32_t kernel = b_.test_kernel("k", 1);
    for (int i = 0; i < 30; ++i) add(i, kernel);
  }

  std::set<std::pair<uint32_t, uint32_t>> expected() const {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t a = 0; a < tasks_.size(); ++a)
      for (uint32_t b = a + 1; b < tasks_.size(); ++b)
        if (share_bytes(tasks_[a], tasks_[b]) && !tasks_[b].before.contains(a) &&
            !tasks_[a].before.contains(b))
          pairs.emplace(a, b);
    return pairs;
  }
  std::set<std::pair<uint32_t, uint32_t>> found() const {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (const StreamConflict& each :
         find_stream_conflicts(b_.model, b_.model.parts(0).fixed(), 1000))
      pairs.emplace(each.first_task, each.second_task);
    return pairs;
  }

 private:
  struct Drawn {
    std::set<uint32_t> before;    // numbers of tasks
    int written = -1, read = -1;  // values
  };

  uint32_t below(uint32_t count) { return random_() % count; }

  void add(int i, uint32_t kernel) {
    const uint32_t stream = below(4), number = static_cast<uint32_t>(tasks_.size());
    Drawn task{.before = done_[stream]};
    const uint32_t kind = below(4);
    if (kind == 0) {
      Event& event = event_to_record(stream, i);
      b_.record(streams_[stream], event.id);
      event.records.push_back(done_[stream]);
      event.records.back().insert(number);
    } else if (kind == 1 && !events_.empty()) {
      const Event& event = events_[below(static_cast<uint32_t>(events_.size()))];
      const uint32_t record = below(static_cast<uint32_t>(event.records.size()));
      b_.wait(streams_[stream], event.id, record + 1);
      done_[stream].insert(event.records[record].begin(), event.records[record].end());
    } else {
      task.written = below(2) == 0 ? static_cast<int>(below(5)) : -1;
      task.read = static_cast<int>(below(5));
      std::vector<uint32_t> written;
      if (task.written >= 0) written.push_back(values_[static_cast<size_t>(task.written)]);
      b_.launch("t" + std::to_string(i), streams_[stream], kernel, written,
                {values_[static_cast<size_t>(task.read)]});
    }
    tasks_.push_back(std::move(task));
    done_[stream].insert(number);
  }

  struct Event {
    uint32_t id;
    std::vector<std::set<uint32_t>> records;  // what is done then, the record among it
  };

  // Returns a new event, or one whose records are all made before this one.
  Event& event_to_record(uint32_t stream, int i) {
    for (Event& event : events_) {
      const std::set<uint32_t>& last = event.records.back();
      if (below(2) == 0 && std::ranges::includes(done_[stream], last)) return event;
    }
    events_.push_back({b_.event("e" + std::to_string(i)), {}});
    return events_.back();
  }

  // Values of 100 bytes lie 64 apart.
  static bool overlap(int a, int b) { return a >= 0 && b >= 0 && std::abs(a - b) < 2; }
  static bool share_bytes(const Drawn& a, const Drawn& b) {
    return overlap(a.written, b.written) || overlap(a.written, b.read) ||
           overlap(a.read, b.written);
  }

  std::mt19937 random_;
  ModelBuilder b_;
  std::vector<uint32_t> values_, streams_;
  std::vector<Event> events_;
  std::map<uint32_t, std::set<uint32_t>> done_;  // by stream, so far
  std::vector<Drawn> tasks_;
};

TEST(StreamChecker, FindsEachPairThatNothingOrders) {
  size_t pairs = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const DrawnPart part(seed);
    const auto expected = part.expected();
    EXPECT_EQ(part.found(), expected) << "seed " << seed;
    pairs += expected.size();
  }
  EXPECT_GT(pairs, 300u);
}

// Two streams that record one event: a wait for either record may be content with the other.
TEST(StreamChecker, RecordsOfAnEventComeOneAfterTheOther) {
  ModelBuilder b;
  const uint32_t s[2] = {b.stream("s"), b.stream("t")};
  const uint32_t e[2] = {b.event("e0"), b.event("e1")};
  b.record(s[0], e[0]);
  b.record(s[0], e[1]);
  const uint32_t wait = b.wait(s[1], e[0]);
  b.record(s[1], e[1]);
  const auto conflicts = conflicts_of(b.model);  // e0 tells nothing of the record of e1 after it
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_THAT(conflicts[0].text, HasSubstr("may come in either order, of event 1"));
  b.part().set_task_target(static_cast<int>(wait), e[1]);
  EXPECT_THAT(conflicts_of(b.model), ::testing::IsEmpty());
}

// A notify is taken before it is given again.
TEST(StreamChecker, NotifiesAreTakenBeforeTheyAreRecordedAgain) {
  ModelBuilder b;
  const uint32_t s[2] = {b.stream("s"), b.stream("t")};
  const uint32_t e = b.event("e");
  b.record(s[0], e);
  b.wait(s[1], e);
  b.record(s[0], e);
  b.wait(s[1], e, 2);
  EXPECT_THAT(conflicts_of(b.model), ::testing::IsEmpty());
  b.part().set_has_notifies(true);
  EXPECT_EQ(conflicts_of(b.model).size(), 1u);
}

}  // namespace
}  // namespace sluice
