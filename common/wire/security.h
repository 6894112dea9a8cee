// The keys of the two sides of a connection, and the endpoints that they open.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// Of a side that listens: the file of its secret key and the folder of the public keys that may
// connect. Both or none.
struct ListenerKeys {
  std::string key;           // --key
  std::string allowed;       // --allow-keys
  bool is_insecure = false;  // --insecure: a port of this machine without keys
};

// Of a side that connects: the file of its secret key and that of the other side's public key, or
// this key itself. Both or none.
struct ConnectorKeys {
  std::string key;             // --key
  std::string peer;            // --peer-key
  std::string peer_text = {};  // in place of the file
};

// Return the endpoint in ZeroMQ's form (common/wire/endpoint.h). Without keys it must be of this
// machine, and to listen at a port of it is_insecure must be set. Errors: kBadOption; kUsage, when
// one key is given and the other one missing.
Result<std::string> listening_endpoint(const std::string& text, const ListenerKeys& keys);
Result<std::string> connecting_endpoint(const std::string& text, const ConnectorKeys& keys);

}  // namespace sluice
