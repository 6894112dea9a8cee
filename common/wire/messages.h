// The meaning of frames: requests as a service reads them, answers as a client does. This file uses
// no sockets: frames are untrusted bytes.
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

// Returns the id in the first frame, or an empty text when it does not have the length of an id.
std::string_view job_id_of(const std::vector<Payload>& frames);

struct Request {
  pb::Job job;
  Payload graph;  // empty when the job names its input
};

// Parses a request. Error: kBadRequest, which names the violated rule of docs/transports.md.
Result<Request> parse_request(std::vector<Payload> frames);

struct Answer {
  pb::Reply reply;  // a heartbeat, or a consistent Result
  Payload output;   // of a Result without error that names no file
};

// Parses an answer. id is that of the job. Error: kBadReply.
Result<Answer> parse_answer(std::vector<Payload> frames, std::string_view id);

}  // namespace sluice::wire
