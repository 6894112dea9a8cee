#include "common/omcheck/stream_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice
