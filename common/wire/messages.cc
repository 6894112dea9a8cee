#include "common/wire/messages.h"

#include "common/base/pages.h"

namespace sluice::wire {
namespace {

constexpr size_t kMaxIdBytes = 64;
constexpr size_t kMaxJobBytes = 1u << 20;

Error bad_request(const std::string& why) {
  return make_error(ErrorCode::kBadRequest, "the request {}", why)
      .with_hint(page_path("transports.md") + " says what a request is");
}

Error bad_reply(std::string_view why) {
  return make_error(ErrorCode::kBadReply, "{}", why)
      .with_hint("is it a service of another release, or of another program?");
}

template <typename Message>
bool parse(const Payload& frame, Message& message) {
  return frame.bytes.size() <= INT32_MAX &&
         message.ParseFromArray(frame.bytes.data(), static_cast<int>(frame.bytes.size()));
}

bool is_consistent(const pb::Result& result, bool has_output) {
  const bool known =
      result.exit_code() == 0 || (result.exit_code() >= 2 && result.exit_code() <= 7);
  const bool output_expected =
      result.exit_code() == 0 && result.output().empty() && result.stored().empty();
  return known && output_expected == has_output && (result.exit_code() != 0) == result.has_error();
}

}  // namespace

std::string_view text_of(const Payload& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

std::string_view job_id_of(const std::vector<Payload>& frames) {
  return frames.empty() || frames[0].bytes.size() > kMaxIdBytes ? std::string_view()
                                                                : text_of(frames[0]);
}

Result<Request> parse_request(std::vector<Payload> frames) {
  if (frames.size() < 2 || frames.size() > kMaxRequestFrames) {
    return bad_request(fmt::format(
        "has {} frames, expected a job id, a Job and, if that names no input, a graph",
        frames.size() > kMaxRequestFrames ? "too many" : std::to_string(frames.size())));
  }
  if (job_id_of(frames).empty())
    return bad_request(fmt::format("has no job id of 1 to {} bytes", kMaxIdBytes));
  Request request;
  if (frames[1].bytes.size() > kMaxJobBytes || !parse(frames[1], request.job))
    return bad_request("holds no Job message");
  const bool has_graph = frames.size() == kMaxRequestFrames;
  if (request.job.input().empty() != has_graph)
    return bad_request("needs a graph, or an input by name, and not both");
  if (has_graph) request.graph = std::move(frames[2]);
  return request;
}

Result<Answer> parse_answer(std::vector<Payload> frames, std::string_view id) {
  Answer answer;
  const bool has_output = frames.size() == kMaxAnswerFrames;
  const bool is_ours = (frames.size() == 2 || has_output) && text_of(frames[0]) == id &&
                       parse(frames[1], answer.reply) &&
                       answer.reply.is_case() != pb::Reply::IS_NOT_SET;
  if (!is_ours || (answer.reply.has_heartbeat() && has_output))
    return bad_reply("what it sends is no answer");
  if (answer.reply.has_result() && !is_consistent(answer.reply.result(), has_output))
    return bad_reply("its result contradicts itself");
  if (has_output) answer.output = std::move(frames[2]);
  return answer;
}

}  // namespace sluice::wire
