// What the owner of a key may not do on a farm, when its key is that of clients or of workers.
#pragma once

#include <optional>

#include "common/wire/channel.h"

namespace sluice {

// Returns the error of a message that the sender's key does not allow. Errors: kKeyRefused.
std::optional<Error> role_violation(const Incoming& incoming);

// Returns the answer to a peer that is refused, for this or another reason.
pb::FarmMessage refused_message(const Error& error);

}  // namespace sluice
