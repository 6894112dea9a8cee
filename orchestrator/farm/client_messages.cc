#include "orchestrator/farm/client_messages.h"

#include <algorithm>

#include "common/wire/failure.h"
#include "orchestrator/farm/roles.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kResendPatience{1000};

}  // namespace

Result<void> ClientMessages::take(const Incoming& incoming, const pb::Submit& submit,
                                  bool is_draining) {
  auto jobs = farm_jobs_of(submit);
  if (!jobs) {
    send_(incoming.peer, refused_message(jobs.error()));
    return {};
  }
  FarmClient& client = board_.client(
      submit.client(), incoming.user.empty() ? submit.owner() : incoming.user, incoming.peer);
  const auto is_new = [&](const FarmJob& job) { return board_.find(job.key) == nullptr; };
  // A message is taken whole: the last one may exceed the limit.
  const bool is_full =
      is_draining || (board_.jobs().size() >= max_jobs_ && std::ranges::any_of(*jobs, is_new));
  if (!is_full)
    for (FarmJob& job : *jobs) SLUICE_TRY(board_.submit(client, std::move(job)));
  pb::FarmMessage answer;
  answer.mutable_accepted()->set_number(submit.number());
  answer.mutable_accepted()->set_is_full(is_full);
  after_commit_.emplace_back(incoming.peer, std::move(answer));
  return {};
}

Result<void> ClientMessages::take(const Incoming& incoming, const pb::ClientBeat& beat) {
  if (beat.leaves()) return board_.remove_client(beat.client());
  FarmClient* client = board_.find_client(beat.client());
  pb::FarmMessage answer;
  if (client == nullptr) {
    answer.mutable_ended()->set_has_lost_client(true);
    answer.mutable_ended()->set_client(beat.client());
    send_(incoming.peer, answer);
    return {};
  }
  board_.client(beat.client(), client->owner, incoming.peer);
  SLUICE_TRY(board_.take_seen(*client, std::min(beat.seen(), client->ended)));
  answer.mutable_heartbeat();
  send_(incoming.peer, answer);
  report_unfit(*client);
  return {};
}

void ClientMessages::report_unfit(const FarmClient& client) {
  const auto group = unfit_.by_owner().find(client.owner);
  if (client.open.empty() || group == unfit_.by_owner().end() || !group->second.is_reported) return;
  pb::FarmMessage message;
  message.mutable_unfit()->set_jobs(group->second.jobs);
  message.mutable_unfit()->set_why(group->second.why);
  send_(client.peer, message);
}

void ClientMessages::turn(FarmClock::time_point now) {
  for (auto& [id, client] : board_.clients())
    if (client.sent > client.seen() && now - client.last_sent > kResendPatience)
      client.sent = client.seen();
}

void ClientMessages::report_after_commit() {
  for (auto& [peer, message] : std::exchange(after_commit_, {})) send_(peer, message);
  for (auto& [id, client] : board_.clients()) {
    while (client.sent < client.ended && !client.peer.empty()) {
      pb::FarmMessage message;
      *message.mutable_ended() = next_ends(client, board_.jobs());
      client.last_sent = board_.now();
      if (!send_(client.peer, message)) break;
    }
  }
}

bool ClientMessages::have_all_ends(FarmClock::time_point now) const {
  constexpr auto kPatience = std::chrono::milliseconds(kHeartbeatMs) * kMissedHeartbeats;
  return std::ranges::all_of(board_.clients(), [&](const auto& entry) {
    return entry.second.unseen.empty() || now - entry.second.last_heard > kPatience;
  });
}

}  // namespace sluice
