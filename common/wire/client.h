// The client's side of a service: one job, one answer, and never an unlimited wait.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/wire/payload.h"
#include "common/wire/security.h"
#include "control.pb.h"

namespace sluice {

struct ClientOptions {
  ConnectorKeys keys;
  uint64_t max_frame = kMaxFrameBytes;
  // Called whenever a signal or a message came, and at least each second.
  std::function<bool()> interrupted = [] { return false; };
};

struct JobReply {
  pb::Result result;
  // When the result is not an error and names neither a file nor an artifact of the store.
  Payload output;
};

// Sends the job with its graph (none when job.input names a file) and waits for the Result. Errors
// are those of the connection: kPeerLost when nobody answers, the connection breaks, or five
// heartbeats are missing; kBadReply when a message is not an answer to this job, or messages come
// in a flood; kKeyRefused; kLimit when the graph exceeds a frame; kIo. Errors of the job itself are
// in the Result.
Result<JobReply> run_job(const std::string& endpoint, const pb::Job& job, Payload graph,
                         const ClientOptions& options = {});

// Convert errors to and from messages.
pb::Failure failure_message(const Error& error);
Error failure_error(const pb::Failure& failure);

}  // namespace sluice
