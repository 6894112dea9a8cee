// Who may talk to a socket that listens with a key: answers ZeroMQ's question about each key that
// connects (ZAP, rfc.zeromq.org/spec/27), and knows the key behind each message. It has no thread:
// its owner polls it.
#pragma once

#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/wire/allowed_keys.h"
#include "common/wire/keys.h"
#include "common/wire/monitor.h"
#include "common/wire/refused_peers.h"
#include "common/wire/security.h"

namespace sluice::wire {

class Guard {
 public:
  // To be made before the socket is bound, once for a context.
  Guard(zmq::context_t& context, zmq::socket_t& socket, const KeyPair& own, AllowedKeys allowed);

  void add_items(std::vector<zmq::pollitem_t>& items);
  void turn();  // answers what waits; never waits itself
  // Returns the key of who sent the frame; none when it was removed since it connected.
  const AllowedKey* sender(zmq::message_t& frame);
  // Returns those that were refused since the last call.
  std::vector<RefusedPeer> take_refused() { return refused_.take(); }

 private:
  void answer(std::vector<zmq::message_t> request);
  AllowedKeys allowed_;
  zmq::socket_t questions_;
  Monitor monitor_;
  RefusedPeers refused_;
};

// Makes the guard of a socket that is to listen with keys; none without. Errors: those of the files
// of keys, kNotFound for the folder.
Result<void> guard_with(const ListenerKeys& keys, zmq::context_t& context, zmq::socket_t& socket,
                        std::optional<Guard>& guard);

}  // namespace sluice::wire
