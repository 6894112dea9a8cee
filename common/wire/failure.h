// Errors as messages of peers.
#pragma once

#include "common/base/result.h"
#include "farm.pb.h"

namespace sluice {

pb::Failure failure_message(const Error& error);
// A code that is none of ours becomes kBadReply.
Error failure_error(const pb::Failure& failure);

}  // namespace sluice
