// The side of a worker that other workers connect to, to get pieces of its store. It answers
// nothing else.
#pragma once

#include <string>
#include <vector>

#include "common/store/store.h"
#include "common/wire/channel.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_log.h"

namespace sluice {

struct PeerServerRequest {
  std::string bind;        // endpoint; empty: nobody is served
  std::string reached_at;  // the same for others, where it is another one
  ListenerKeys keys;
};

class PeerServer {
 public:
  // Errors: those of Channel::listen; kBadOption when nobody could connect to its endpoint.
  static Result<PeerServer> listen(const PeerServerRequest& request);
  Channel& channel() { return channel_; }
  const std::string& endpoint() const { return endpoint_; }      // for others
  const std::string& public_key() const { return public_key_; }  // empty: without keys
  // Answers what has come. What was found damaged is no longer there.
  void turn(const Store& store, Artifacts& artifacts, const FarmLog& log);

 private:
  PeerServer(Channel channel, std::string endpoint, std::string public_key)
      : channel_(std::move(channel)),
        endpoint_(std::move(endpoint)),
        public_key_(std::move(public_key)) {}
  Channel channel_;
  std::string endpoint_, public_key_;
};

}  // namespace sluice
