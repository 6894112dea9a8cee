// The address of a service: only on this machine, unless both sides have keys.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace sluice {

// Which tcp endpoints are taken.
enum class Reach : uint8_t {
  kThisMachine,  // HOST is an address of the loopback network (127.0.0.0/8, ::1), or localhost
  kConnect,      // HOST is any address or name of a machine
  kListen        // HOST is any address, the name of an interface, or "*" for all of them
};

// Returns the endpoint in ZeroMQ's form: "ipc://PATH" unchanged; "tcp://HOST:PORT", where localhost
// becomes 127.0.0.1, and PORT is a number or, to listen at any free one, "*". Errors: kBadOption.
Result<std::string> parse_endpoint(const std::string& text, Reach reach = Reach::kThisMachine);

// Returns the endpoint where ZeroMQ says that it listens, as people write it.
std::string readable_endpoint(const std::string& endpoint);

// Returns the path of an ipc endpoint; empty for others.
std::string ipc_path(const std::string& endpoint);

// Checks that the path of the endpoint is free, since ZeroMQ would remove any file there. Errors:
// kIo when another process listens there, or when the file is not a socket.
Result<void> check_unused(const std::string& endpoint);

}  // namespace sluice
