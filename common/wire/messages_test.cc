#include "common/wire/messages.h"

#include <gmock/gmock.h>

#include <memory>

namespace sluice::wire {
namespace {

using testing::HasSubstr;

Payload frame(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {std::as_bytes(std::span(*owner)), owner};
}

std::string job(const std::string& input) {
  pb::Job message;
  message.set_stage("optimize");
  message.set_input(input);
  return message.SerializeAsString();
}

std::string refused_request(std::vector<Payload> frames) {
  const auto request = parse_request(std::move(frames));
  return request.ok() ? "taken" : request.error().message;
}

TEST(Messages, RequestsHaveAGraphOrNameAnInput) {
  auto with_graph = parse_request({frame("7"), frame(job("")), frame("graph")});
  ASSERT_TRUE(with_graph.ok()) << error_text(with_graph.error());
  EXPECT_EQ(text_of(with_graph->graph), "graph");
  EXPECT_EQ(refused_request({frame("7"), frame(job("/in.sg"))}), "taken");
  EXPECT_THAT(refused_request({frame("7"), frame(job("/in.sg")), frame("graph")}),
              HasSubstr("and not both"));
  EXPECT_THAT(refused_request({frame("7"), frame(job(""))}), HasSubstr("and not both"));
}

TEST(Messages, RequestsThatAreNoneAreRefused) {
  EXPECT_THAT(refused_request({}), HasSubstr("has 0 frames"));
  EXPECT_THAT(refused_request({frame("7"), frame(job("")), frame("g"), frame("g")}),
              HasSubstr("too many frames"));
  EXPECT_THAT(refused_request({frame(""), frame(job("")), frame("g")}), HasSubstr("no job id"));
  EXPECT_THAT(refused_request({frame(std::string(65, 'i')), frame(job("")), frame("g")}),
              HasSubstr("no job id"));
  EXPECT_THAT(refused_request({frame("7"), frame("\xff\xff"), frame("g")}),
              HasSubstr("no Job message"));
  EXPECT_THAT(refused_request({frame("7"), frame(std::string(2u << 20, '\0')), frame("g")}),
              HasSubstr("no Job message"));
}

std::string refused_answer(const pb::Reply& reply, bool has_output, const std::string& id = "1") {
  std::vector<Payload> frames = {frame(id), frame(reply.SerializeAsString())};
  if (has_output) frames.push_back(frame("output"));
  const auto answer = parse_answer(std::move(frames), "1");
  return answer.ok() ? "taken" : answer.error().message;
}

TEST(Messages, AnswersMustNotContradictThemselves) {
  pb::Reply beat, done, failed;
  beat.mutable_heartbeat();
  done.mutable_result()->set_exit_code(0);
  failed.mutable_result()->set_exit_code(3);
  EXPECT_EQ(refused_answer(beat, false), "taken");
  EXPECT_EQ(refused_answer(beat, true), "what it sends is no answer");
  EXPECT_EQ(refused_answer(beat, false, "2"), "what it sends is no answer");
  EXPECT_EQ(refused_answer({}, false), "what it sends is no answer");
  EXPECT_EQ(refused_answer(done, true), "taken");
  EXPECT_EQ(refused_answer(done, false), "its result contradicts itself");
  EXPECT_EQ(refused_answer(failed, false), "its result contradicts itself");
  failed.mutable_result()->mutable_error()->set_code(1003);
  EXPECT_EQ(refused_answer(failed, false), "taken");
  failed.mutable_result()->set_exit_code(1);
  EXPECT_EQ(refused_answer(failed, false), "its result contradicts itself");
}

}  // namespace
}  // namespace sluice::wire
