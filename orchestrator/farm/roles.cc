#include "orchestrator/farm/roles.h"

#include "common/wire/failure.h"

namespace sluice {
namespace {

bool is_of_workers(const pb::FarmMessage& message) {
  return message.has_worker_beat() || message.has_done();
}

bool is_of_clients(const pb::FarmMessage& message) {
  return message.has_submit() || message.has_client_beat() || message.has_release() ||
         message.has_drain();
}

Error not_for(const Incoming& incoming, const char* is, const char* needs) {
  return make_error(ErrorCode::kKeyRefused, "the key '{}' is that of a {}, not of a {}",
                    incoming.user, is, needs)
      .with_hint(
          "in the folder of --allow-keys, keys of clients are in clients, those of workers in "
          "workers, and those of both in neither");
}

}  // namespace

pb::FarmMessage refused_message(const Error& error) {
  pb::FarmMessage message;
  *message.mutable_refused() = failure_message(error);
  return message;
}

std::optional<Error> role_violation(const Incoming& incoming) {
  if (incoming.role == KeyRole::kClient && is_of_workers(incoming.message))
    return not_for(incoming, "client", "worker");
  if (incoming.role == KeyRole::kWorker && is_of_clients(incoming.message))
    return not_for(incoming, "worker", "client");
  return std::nullopt;
}

}  // namespace sluice
