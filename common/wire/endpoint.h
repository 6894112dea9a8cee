// Where a service listens: on this machine alone, until there are keys to know others by.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// As ZeroMQ takes it: "ipc://PATH" as given; "tcp://HOST:PORT" with HOST an address of the loopback
// network (127.0.0.0/8, ::1) or localhost, which becomes 127.0.0.1, and PORT a number or, to listen
// at any free one, "*". Errors: kBadOption.
Result<std::string> parse_endpoint(const std::string& text);

// The path of an ipc endpoint; empty for others.
std::string ipc_path(const std::string& endpoint);

// Whether the endpoint can be listened at as far as files go: ZeroMQ would remove whatever stands
// at the path. Errors: kIo when another process listens there, or when it is no socket.
Result<void> check_unused(const std::string& endpoint);

}  // namespace sluice
