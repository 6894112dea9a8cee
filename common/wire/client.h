// The client's side of a service: one job, one answer, and never an unlimited wait.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/wire/payload.h"
#include "control.pb.h"

namespace sluice {

struct ClientOptions {
  uint64_t max_frame = kMaxFrameBytes;
  std::function<bool()> interrupted = [] {
    return false;
  };  // asked whenever a signal or a message came, and at least each second
};

struct JobReply {
  pb::Result result;
  Payload output;  // when the result is no error, names no file and nothing in the store
};

// Sends the job with its graph (none when job.input names a file) and waits for the Result. Errors
// are those of the connection: kPeerLost when nobody answers, the connection breaks, or five
// heartbeats are missing; kBadReply when what comes is no answer to this job, or comes in a flood;
// kLimit when the graph exceeds a frame; kIo. What a job itself meets is in the Result.
Result<JobReply> run_job(const std::string& endpoint, const pb::Job& job, Payload graph,
                         const ClientOptions& options = {});

// Errors as they travel.
pb::Failure failure_message(const Error& error);
Error failure_error(const pb::Failure& failure);

}  // namespace sluice
