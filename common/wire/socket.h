// A ZeroMQ socket whose errors are values. Internal to this folder: others include client.h and
// service.h.
#pragma once

#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/base/result.h"
#include "common/wire/lazy_zmq.h"
#include "common/wire/payload.h"
#include "common/wire/security.h"

namespace sluice::wire {

using Frames = std::vector<zmq::message_t>;

std::string_view text_of(const zmq::message_t& frame);
zmq::message_t frame_of(std::string_view text);
zmq::message_t frame_of(Payload payload);  // not copied
Payload payload_of(zmq::message_t frame);  // not copied
std::vector<Payload> payloads_of(Frames frames);

// Receives a waiting message, at most `maximum` frames of it; the others are dropped. Empty: there
// is none now.
Frames receive(zmq::socket_t& socket, size_t maximum);

// Sends without waiting. kGone: a ROUTER does not know the identity any more. kFull: the peer does
// not read.
enum class Sent { kDone, kGone, kFull };
Sent send(zmq::socket_t& socket, Frames frames);

// Sets the limits of frames and queues. Closing the socket waits at most `linger_ms`.
void set_limits(zmq::socket_t& socket, uint64_t max_frame, int linger_ms);

// Has the socket, which is to connect, use the keys, if there are some; after set_limits. Errors:
// those of the key files.
Result<void> use_keys(zmq::socket_t& socket, const ConnectorKeys& keys);

// Makes a frame's limit, which counts encrypted bytes, that of the bytes in it.
void make_space_for_encryption(zmq::socket_t& socket);

// Returns the result of body(), or kIo for an exception of the library.
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
