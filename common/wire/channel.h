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
#include "common/wire/farm_frames.h"

namespace sluice {

struct Incoming {
  std::string peer;  // the connection that it came from; empty for one who connected
  std::string user;  // the name of the peer's key; empty where there are no keys
  pb::FarmMessage message;
  Payload bytes;
};

class Channel {
 public:
  // Errors: kBadOption for the endpoint; kIo when nobody can listen or connect there.
  static Result<Channel> listen(const std::string& endpoint);
  static Result<Channel> connect(const std::string& endpoint);
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

  // Waits until a message is there, one of the descriptors is readable, or the time is over.
  // Returns for each descriptor whether it is readable.
  std::vector<bool> wait(std::span<const int> descriptors, std::chrono::milliseconds time);

 private:
  struct State;
  explicit Channel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
