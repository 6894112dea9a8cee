// One question to a dispatcher, and its answer.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/wire/security.h"
#include "farm.pb.h"

namespace sluice {

// Returns the status that the dispatcher answers with, as JSON. Errors: kPeerLost, when nobody
// answers; kKeyRefused; that of a dispatcher that refuses.
Result<std::string> ask_for_status(const std::string& endpoint, const ConnectorKeys& keys,
                                   const pb::FarmMessage& question);

}  // namespace sluice
