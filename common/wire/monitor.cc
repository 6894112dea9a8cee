#include "common/wire/monitor.h"

#include <atomic>
#include <cstring>

#include "common/wire/socket.h"
#include "fmt/format.h"

namespace sluice::wire {
namespace {

// Sockets of one context have places of their own.
std::string next_place() {
  static std::atomic<uint64_t> number = 0;
  return fmt::format("inproc://events-{}", ++number);
}

}  // namespace

Monitor::Monitor(zmq::context_t& context, zmq::socket_t& socket, int events)
    : events_(context, zmq::socket_type::pair) {
  const std::string place = next_place();
  if (zmq_socket_monitor(socket.handle(), place.c_str(), events) != 0) throw zmq::error_t();
  events_.set(zmq::sockopt::linger, 0);
  events_.set(zmq::sockopt::rcvhwm, 0);  // the library waits for who does not read events
  events_.connect(place);
}

std::optional<Monitor::Event> Monitor::next() {
  const Frames frames = receive(events_, 2);
  if (frames.empty()) return std::nullopt;
  uint16_t kind = 0;
  Event event;
  if (frames[0].size() < sizeof(kind) + sizeof(event.value)) return std::nullopt;
  std::memcpy(&kind, frames[0].data(), sizeof(kind));
  std::memcpy(&event.value, static_cast<const char*>(frames[0].data()) + sizeof(kind),
              sizeof(event.value));
  event.kind = kind;
  return event;
}

std::optional<Error> key_error_of(const Monitor::Event& event, bool has_keys) {
  if ((event.kind & kHandshakeFailures) == 0) return std::nullopt;
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
    return make_error(ErrorCode::kKeyRefused, "our key is not allowed there")
        .with_hint("its public key, NAME.pub, must be in the folder of --allow-keys there");
  }
  const bool differs = event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
                       event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
  if (differs && !has_keys) {
    return make_error(ErrorCode::kKeyRefused, "it wants keys, and we have none")
        .with_hint("give --key and --peer-key; docs/farm.md");
  }
  if (differs) {
    return make_error(ErrorCode::kKeyRefused, "it has no key, and we were given one for it")
        .with_hint("start it with --key and --allow-keys, or leave out --key and --peer-key");
  }
  if (!has_keys && event.kind != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) return std::nullopt;
  if (!has_keys) {
    return make_error(ErrorCode::kKeyRefused,
                      "it ends the connection: it wants keys, and we have none")
        .with_hint("give --key and --peer-key, docs/farm.md; or it is no program of Sluice");
  }
  return make_error(ErrorCode::kKeyRefused,
                    "it ends the connection: --peer-key is not its key, or it has no key")
      .with_hint("--peer-key is the NAME.pub made together with its --key");
}

}  // namespace sluice::wire
