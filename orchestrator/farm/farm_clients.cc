#include "orchestrator/farm/farm_clients.h"

#include <algorithm>

#include "orchestrator/farm/artifacts.h"

namespace sluice {
namespace {

constexpr size_t kMaxBytes = 1u << 20;

}  // namespace

pb::Ended next_ends(FarmClient& client, const FarmJobs& jobs) {
  pb::Ended message;
  client.sent = std::max(client.sent, client.seen());
  message.set_after(client.sent);
  message.set_client(client.id);
  for (size_t bytes = 0; client.sent < client.ended && bytes < kMaxBytes;) {
    const Digest& key = client.key_of(client.sent + 1);
    const auto job = jobs.find(key);
    pb::JobEnd& end = *message.add_jobs();
    if (job != jobs.end() && job->second.end) end = *job->second.end;
    end.set_key(digest_field(key));
    bytes += end.ByteSizeLong();
    ++client.sent;
  }
  return message;
}

}  // namespace sluice
