#include "orchestrator/farm/ask.h"

#include "common/wire/channel.h"
#include "common/wire/failure.h"
#include "orchestrator/process/process.h"

namespace sluice {

Result<std::string> ask_for_status(const std::string& endpoint, const ConnectorKeys& keys,
                                   const pb::FarmMessage& question) {
  SLUICE_ASSIGN(Channel channel, Channel::connect(endpoint, keys));
  const std::chrono::milliseconds heartbeat{kHeartbeatMs};
  for (int i = 0; i < kMissedHeartbeats && !interrupted(); ++i) {
    channel.send(question);
    channel.wait({}, heartbeat);
    if (auto error = channel.take_key_error()) return std::move(*error);
    while (const auto incoming = channel.receive()) {
      if (incoming->message.has_status()) return incoming->message.status().json();
      if (incoming->message.has_refused())
        return failure_error(incoming->message.refused()).within(endpoint);
    }
  }
  return make_error(ErrorCode::kPeerLost, "no dispatcher answers at '{}' for {} s", endpoint,
                    kMissedHeartbeats)
      .with_hint("sluice farm --bind starts one; docs/farm.md");
}

}  // namespace sluice
