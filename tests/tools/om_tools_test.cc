// Tests the inspection tools on compiled models: text and back, and the stream checker that
// sluice-verify runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/omfile/testing/three_streams.h"
#include "common/tools/om_text.h"
#include "common/tools/verify_file.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::make_three_streams;

std::vector<std::byte> with_segments(const pb::ModelDef& model,
                                     const std::vector<std::byte>& weights) {
  OmSegment segment;
  segment.kind = pb::SEGMENT_WEIGHTS;
  segment.bytes = weights.size();
  segment.pieces.push_back({0, weights});
  return testing::om_bytes(model, {segment});
}

TEST(OmTools, TextAndBackByteForByte) {
  const std::vector<std::byte> weights(10000, std::byte{42});
  const std::vector<std::byte> original = with_segments(make_three_streams(), weights);
  const TestFolder folder;
  ASSERT_TRUE(write_file(folder.file("in.om"), original).ok());
  const auto text = om_text(original, true);
  ASSERT_TRUE(text.ok()) << error_text(text.error());
  EXPECT_THAT(*text, HasSubstr("# profile"));
  EXPECT_THAT(*text, HasSubstr("task_stream"));
  EXPECT_THAT(*text, HasSubstr("node_names {\n  name: \""));
  EXPECT_THAT(*text, HasSubstr("value_names {\n      name: \""));
  const auto done = write_om_of_text(*text, "text", folder.file("in.om"), folder.file("back.om"));
  ASSERT_TRUE(done.ok()) << error_text(done.error());
  EXPECT_EQ(*read_file(folder.file("back.om")), original);
}

TEST(OmTools, SummaryCounts) {
  const pb::ModelDef model = make_three_streams();
  const auto text = om_summary(with_segments(model, std::vector<std::byte>(10000)));
  ASSERT_TRUE(text.ok()) << error_text(text.error());
  EXPECT_THAT(*text, HasSubstr("weights: 10000 bytes"));
  EXPECT_THAT(*text, HasSubstr(fmt::format("tasks: {}:", model.parts(0).fixed().task_kind_size())));
  EXPECT_THAT(
      *text, HasSubstr(fmt::format("streams: {}, events: {}", model.parts(0).fixed().streams_size(),
                                   model.parts(0).fixed().events_size())));
  EXPECT_FALSE(om_summary(std::vector<std::byte>(100)).ok());
}

TEST(OmTools, SegmentsAreNotInTheText) {
  const std::vector<std::byte> original =
      with_segments(make_three_streams(), std::vector<std::byte>(100));
  const auto text = om_text(original, false);
  ASSERT_TRUE(text.ok());
  const TestFolder folder;
  const auto done = write_om_of_text(*text, "text", "", folder.file("om_tools_no.om"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kMissingSegment);
}

TEST(OmTools, TextThatIsNoModel) {
  const TestFolder folder;
  const auto done = write_om_of_text("profile: 7\n", "my.txt", "", folder.file("om_tools_bad.om"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kBadText);
  EXPECT_EQ(done.error().message, "my.txt:1:10: Expected string, got: 7");
}

// The model's tasks make the same two values over and over, which the checker of memory plans
// rightly rejects; this test is about streams.
TEST(OmTools, VerifyFindsWhatAMissingEventLetsOverlap) {
  const pb::ModelDef model = make_three_streams();
  const auto good = verify_om(testing::om_bytes(model), true);
  EXPECT_TRUE(good.ok() || good.error().message.find("may overlap") == std::string::npos);
  for (uint32_t event = 0; event < 4; ++event) {
    const auto found = verify_om(testing::om_bytes(testing::without_event(model, event)), true);
    ASSERT_FALSE(found.ok()) << "event " << event;
    EXPECT_EQ(found.error().code, ErrorCode::kDifferent);
    EXPECT_THAT(found.error().message, HasSubstr("may overlap"));
  }
}

}  // namespace
}  // namespace sluice
