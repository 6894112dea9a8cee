// The other workers from which a worker gets artifacts, by their endpoints: a connection to each
// that is used, and for a while those that failed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/wire/channel.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_log.h"

namespace sluice {

class Peers {
 public:
  using Clock = Artifacts::Clock;
  // own_key: the file of our secret key; empty: we have none.
  Peers(const Channel& dispatcher, std::string own_key, const FarmLog& log)
      : dispatcher_(dispatcher), own_key_(std::move(own_key)), log_(log) {}

  // Takes a reference of the dispatcher: the artifact is asked for there from now on, unless the
  // holder cannot be connected to.
  void take(const pb::Piece& piece, Artifacts& artifacts);
  bool send(const std::string& peer, const pb::FarmMessage& message);
  // Adds those of which something may come.
  void add_channels(std::vector<Channel*>& channels);
  // Takes what has come, reports which holders have failed, and closes connections.
  void turn(Artifacts& artifacts, Clock::time_point now);

 private:
  struct Peer {
    Channel channel;
    std::string key;  // its public key
    Clock::time_point used;
  };
  Result<void> open(const std::string& endpoint, const std::string& key);
  void take_messages(Artifacts& artifacts, const std::string& endpoint, Peer& peer);
  void take_failure(Artifacts& artifacts, const Artifacts::Failure& failure);
  void avoid(Artifacts& artifacts, const std::string& endpoint, const std::string& why);

  const Channel& dispatcher_;
  const std::string own_key_;
  const FarmLog& log_;
  std::map<std::string, Peer> peers_;
  std::map<std::string, Clock::time_point> avoided_;  // until then
  std::map<std::string, Clock::time_point> warned_;
};

}  // namespace sluice
