#include "common/passes_host/protocol.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/passes_host/child.h"

namespace sluice {
namespace {

TEST(Protocol, RequestsAreReadUpToTheEnd) {
  auto pipe = make_pipe_ends();
  ASSERT_TRUE(pipe.ok());
  const std::string sent =
      request_line({.file = "/p \"q\".py", .point = "before-build", .has_types = false}, 3) + "abc";
  ASSERT_TRUE(write_descriptor(pipe->write.get(), std::as_bytes(std::span(sent))).ok());
  pipe->write.reset();
  const auto asked = read_request(pipe->read.get());
  ASSERT_TRUE(asked.ok() && *asked);
  EXPECT_EQ((*asked)->request.file, "/p \"q\".py");
  EXPECT_FALSE((*asked)->request.has_types);
  EXPECT_EQ((*asked)->graph.size(), 3u);
  const auto end = read_request(pipe->read.get());
  EXPECT_TRUE(end.ok() && !*end);
}

TEST(Protocol, CutOffRequestsAreErrors) {
  for (const std::string sent : {"{\"bytes\": 5}\nabc", "{\"bytes\"", "no json\n"}) {
    auto pipe = make_pipe_ends();
    ASSERT_TRUE(pipe.ok());
    ASSERT_TRUE(write_descriptor(pipe->write.get(), std::as_bytes(std::span(sent))).ok());
    pipe->write.reset();
    EXPECT_FALSE(read_request(pipe->read.get()).ok()) << sent;
  }
}

TEST(Protocol, AnswersAndErrorsAreParsed) {
  const auto answer = parse_answer(
      R"({"changed": true, "bytes": 7, "counts": [{"pass": "p", "matches": 2}], "notes": ["n", 1]})");
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->answer.changed);
  EXPECT_EQ(answer->bytes, 7u);
  EXPECT_EQ(answer->answer.counts.at(0).times.matches, 2u);
  EXPECT_EQ(answer->answer.notes, std::vector<std::string>{"n"});
  const auto failed = parse_answer(R"({"error": {"code": 1008, "message": "m", "hint": "h"}})");
  ASSERT_TRUE(failed.ok() && failed->error);
  EXPECT_EQ(failed->error->code, ErrorCode::kLimit);
  EXPECT_EQ(parse_answer(R"({"error": {"code": 4}})")->error->code, ErrorCode::kPassFailed);
  for (const char* wrong : {"", "[]", "{}", "{\"bytes\": 1}", "\x80"})
    EXPECT_FALSE(parse_answer(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace sluice
