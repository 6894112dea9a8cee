// The address of a service: only on this machine, as long as there is no authentication.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// Returns the endpoint in ZeroMQ's form: "ipc://PATH" unchanged; "tcp://HOST:PORT" with HOST an
// address of the loopback network (127.0.0.0/8, ::1) or localhost, which becomes 127.0.0.1, and
// PORT a number or, to listen at any free one, "*". Errors: kBadOption.
Result<std::string> parse_endpoint(const std::string& text);

// Returns the path of an ipc endpoint; empty for others.
std::string ipc_path(const std::string& endpoint);

// Checks that the path of the endpoint is free, since ZeroMQ would remove any file there. Errors:
// kIo when another process listens there, or when the file is not a socket.
Result<void> check_unused(const std::string& endpoint);

}  // namespace sluice
