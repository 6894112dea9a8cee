#include "common/wire/socket.h"

#include "common/wire/keys.h"

namespace sluice::wire {
namespace {

// Limits of the queues. Messages beyond them wait in the memory of the peer. The incoming limit is
// small, because each message may have a frame of the maximum size.
constexpr int kQueuedIn = 4, kQueuedOut = 100;
constexpr int64_t kEncryptionBytes = 64;  // that a frame has more, at most

}  // namespace

std::string_view text_of(const zmq::message_t& frame) {
  return {static_cast<const char*>(frame.data()), frame.size()};
}

zmq::message_t frame_of(std::string_view text) { return zmq::message_t(text.data(), text.size()); }

zmq::message_t frame_of(Payload payload) {
  auto* owner = new std::shared_ptr<const void>(std::move(payload.owner));
  const auto release = [](void*, void* hint) {
    delete static_cast<std::shared_ptr<const void>*>(hint);
  };
  return zmq::message_t(const_cast<std::byte*>(payload.bytes.data()), payload.bytes.size(), release,
                        owner);
}

Payload payload_of(zmq::message_t frame) {
  auto owner = std::make_shared<const zmq::message_t>(std::move(frame));
  return {{static_cast<const std::byte*>(owner->data()), owner->size()}, owner};
}

std::vector<Payload> payloads_of(Frames frames) {
  std::vector<Payload> payloads;
  for (zmq::message_t& frame : frames) payloads.push_back(payload_of(std::move(frame)));
  return payloads;
}

Frames receive(zmq::socket_t& socket, size_t maximum) {
  Frames frames;
  for (bool more = true; more;) {
    zmq::message_t frame;
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) break;
    more = frame.more();
    if (frames.size() < maximum) frames.push_back(std::move(frame));
  }
  return frames;
}

Sent send(zmq::socket_t& socket, Frames frames) {
  try {
    for (size_t i = 0; i < frames.size(); ++i) {
      const auto flags = zmq::send_flags::dontwait |
                         (i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
      if (!socket.send(std::move(frames[i]), flags)) return Sent::kFull;
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    return Sent::kGone;
  }
  return Sent::kDone;
}

void set_limits(zmq::socket_t& socket, uint64_t max_frame, int linger_ms) {
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(max_frame));
  socket.set(zmq::sockopt::linger, linger_ms);
  socket.set(zmq::sockopt::rcvhwm, kQueuedIn);
  socket.set(zmq::sockopt::sndhwm, kQueuedOut);
  socket.set(zmq::sockopt::ipv6, true);
}

Result<void> use_keys(zmq::socket_t& socket, const ConnectorKeys& keys) {
  if (keys.key.empty()) return {};
  SLUICE_ASSIGN(const KeyPair own, read_key_pair(keys.key));
  std::string peer = keys.peer_text;
  if (peer.empty()) {
    SLUICE_ASSIGN(peer, read_public_key(keys.peer));
  }
  make_space_for_encryption(socket);
  socket.set(zmq::sockopt::curve_serverkey, peer);
  socket.set(zmq::sockopt::curve_publickey, own.public_key);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  return {};
}

void make_space_for_encryption(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::maxmsgsize, socket.get(zmq::sockopt::maxmsgsize) + kEncryptionBytes);
}

}  // namespace sluice::wire
