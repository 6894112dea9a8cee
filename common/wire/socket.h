// A ZeroMQ socket whose errors are values. For this folder alone: others see client.h and
// service.h.
#pragma once

#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/base/result.h"
#include "common/wire/lazy_zmq.h"
#include "common/wire/payload.h"

namespace sluice::wire {

using Frames = std::vector<zmq::message_t>;

std::string_view text_of(const zmq::message_t& frame);
zmq::message_t frame_of(std::string_view text);
zmq::message_t frame_of(Payload payload);  // not copied
Payload payload_of(zmq::message_t frame);  // not copied
std::vector<Payload> payloads_of(Frames frames);

// What is there to receive, at most `most` frames of it: the others are dropped. Empty: nothing
// now.
Frames receive(zmq::socket_t& socket, size_t maximum);

// Without ever waiting. kGone: a ROUTER knows nobody of that identity any more. kFull: the peer
// does not read.
enum class Sent { kDone, kGone, kFull };
Sent send(zmq::socket_t& socket, Frames frames);

// Limits of frames and queues; nothing is waited for when the socket closes, but for `linger_ms`.
void set_limits(zmq::socket_t& socket, uint64_t max_frame, int linger_ms);

// What body() gives; kIo in place of what the library throws.
template <typename Body>
auto within_zmq(const std::string& what, Body&& body) -> decltype(body()) {
  SLUICE_TRY(load_zmq());
  try {
    return body();
  } catch (const zmq::error_t& error) {
    return make_error(ErrorCode::kIo, "{}: {}", what, error.what());
  }
}

}  // namespace sluice::wire
