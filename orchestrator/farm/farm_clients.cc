#include "orchestrator/farm/farm_clients.h"

namespace sluice {
namespace {

constexpr size_t kMaxBytes = 1u << 20;

}  // namespace

pb::Ended next_ends(FarmClient& client, const FarmJobs& jobs) {
  pb::Ended message;
  client.sent = std::max(client.sent, client.seen());
  message.set_after(client.sent);
  for (size_t bytes = 0; client.sent < client.ended && bytes < kMaxBytes;) {
    const auto job = jobs.find(client.key_of(client.sent + 1));
    pb::JobEnd& end = *message.add_jobs();
    if (job != jobs.end() && job->second.end) end = *job->second.end;
    bytes += end.ByteSizeLong();
    ++client.sent;
  }
  return message;
}

}  // namespace sluice
