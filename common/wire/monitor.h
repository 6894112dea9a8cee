// What a socket reports of its connections: a handshake that failed, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "common/base/result.h"

namespace sluice::wire {

class Monitor {
 public:
  struct Event {
    int kind = 0;  // ZMQ_EVENT_...
    uint32_t value = 0;
  };
  // events: those that are wanted. To be made before the socket connects or is bound.
  Monitor(zmq::context_t& context, zmq::socket_t& socket, int events);
  std::optional<Event> next();
  zmq::pollitem_t item() { return {events_.handle(), 0, ZMQ_POLLIN, 0}; }

 private:
  zmq::socket_t events_;
};

inline constexpr int kHandshakeFailures = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// Returns what a failed handshake means for who connected, with keys or without; nothing when keys
// are not the reason. A handshake that just broke means something when several did: the peer may
// have been ending, and which side finds first that one of them has no keys is chance.
std::optional<Error> key_error_of(const Monitor::Event& event, bool has_keys);

}  // namespace sluice::wire
