// What frames mean: requests as a service reads them, answers as a client does. No sockets here:
// frames are bytes from anybody.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/wire/payload.h"
#include "control.pb.h"

namespace sluice::wire {

inline constexpr size_t kMaxRequestFrames = 3;  // job id, Job, graph
inline constexpr size_t kMaxAnswerFrames = 3;   // job id, Reply, output

std::string_view text_of(const Payload& frame);

// The id that the first frame holds; empty when there is none of a length that ids have.
std::string_view job_id_of(const std::vector<Payload>& frames);

struct Request {
  pb::Job job;
  Payload graph;  // empty when the job names its input
};

// Error: kBadRequest, saying what of docs/transports.md it breaks.
Result<Request> parse_request(std::vector<Payload> frames);

struct Answer {
  pb::Reply reply;  // a heartbeat, or a Result that does not contradict itself
  Payload output;   // of a Result without error that names no file
};

// id: of the job. Error: kBadReply.
Result<Answer> parse_answer(std::vector<Payload> frames, std::string_view id);

}  // namespace sluice::wire
