// A socket for messages of the farm, without threads: the dispatcher listens, workers and clients
// connect. Messages may be lost; a lost connection comes back by itself.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/wire/allowed_keys.h"
#include "common/wire/farm_frames.h"
#include "common/wire/refused_peers.h"
#include "common/wire/security.h"

namespace sluice {

struct Incoming {
  std::string peer;  // the connection that it came from; empty for one who connected
  std::string user;  // the name of the peer's key; empty where there are no keys
  KeyRole role = KeyRole::kAny;
  pb::FarmMessage message;
  Payload bytes;
};

class Channel {
 public:
  // Errors: kBadOption for the endpoint; kIo when nobody can listen or connect there; those of the
  // files of keys.
  static Result<Channel> listen(const std::string& endpoint, const ListenerKeys& keys);
  // beside: a channel that connected, whose threads serve this one, too.
  static Result<Channel> connect(const std::string& endpoint, const ConnectorKeys& keys,
                                 const Channel* beside = nullptr);
  Channel(Channel&&) noexcept;
  ~Channel();

  // Returns the endpoint at which others can connect.
  std::string endpoint() const;

  // Sends without waiting. A peer that is gone, or does not read, gets nothing. Returns whether
  // the message is on its way.
  bool send(const std::string& peer, const pb::FarmMessage& message, Payload bytes = {});
  bool send(const pb::FarmMessage& message, Payload bytes = {}) {
    return send(std::string(), message, std::move(bytes));
  }

  // Returns a waiting message. What is no message is dropped and counted.
  std::optional<Incoming> receive();
  uint64_t dropped() const;

  // Of a side that listens with keys: those that it has refused since the last call.
  std::vector<RefusedPeer> take_refused();
  // Of a side that connected: the error of a peer that refuses it, or that it refuses, because of a
  // key, once for each time; after a pause it tries again. Errors: kKeyRefused.
  std::optional<Error> take_key_error();

  // Waits until a message is there, one of the descriptors is readable, or the time is over.
  // Returns for each descriptor whether it is readable.
  std::vector<bool> wait(std::span<const int> descriptors, std::chrono::milliseconds time) {
    Channel* const only = this;
    return wait({&only, 1}, descriptors, time);
  }
  // The same with a message of any of the channels.
  static std::vector<bool> wait(std::span<Channel* const> channels,
                                std::span<const int> descriptors, std::chrono::milliseconds time);

 private:
  struct State;
  bool is_from_allowed(Incoming& incoming, const AllowedKey* key);
  explicit Channel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
