#include "orchestrator/farm/peers.h"

#include <algorithm>

#include "common/wire/failure.h"
#include "orchestrator/farm/farm_job.h"

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr size_t kMaxPeers = 16, kMaxRemembered = 1000;
constexpr seconds kPeerIdle{30};   // until a connection is closed
constexpr seconds kAvoidance{60};  // of a holder that is silent or refuses us
constexpr seconds kWarnPause{60};
constexpr int kPeerMessagesAtOnce = 256;

}  // namespace

void Peers::take(const pb::Piece& piece, Artifacts& artifacts) {
  const auto digest = digest_of_field(piece.digest());
  if (!digest) return;
  const std::string& endpoint = piece.elsewhere();
  const auto opened = open(endpoint, piece.elsewhere_key());
  if (!artifacts.refer(*digest, endpoint, piece.total())) return;
  if (!opened) return artifacts.give_up_holder(endpoint, opened.error().message);
  log_.detail("fetching from peer", {{"artifact", short_key(*digest)},
                                     {"bytes", fmt::format("{}", piece.total())},
                                     {"peer", endpoint}});
}

Result<void> Peers::open(const std::string& endpoint, const std::string& key) {
  const auto now = Clock::now();
  if (const auto until = avoided_.find(endpoint); until != avoided_.end()) {
    if (now < until->second) return make_error(ErrorCode::kPeerLost, "it failed a short while ago");
    avoided_.erase(until);
  }
  const auto peer = peers_.find(endpoint);
  if (peer != peers_.end() && peer->second.key == key) {
    peer->second.used = now;
    return {};
  }
  if (peer != peers_.end()) peers_.erase(peer);
  ConnectorKeys keys;
  if (!key.empty()) keys = {.key = own_key_, .peer = {}, .peer_text = key};
  SLUICE_ASSIGN(Channel channel, Channel::connect(endpoint, keys, &dispatcher_));
  if (peers_.size() >= kMaxPeers) {
    const auto oldest =
        std::ranges::min_element(peers_, {}, [](const auto& entry) { return entry.second.used; });
    peers_.erase(oldest);
  }
  peers_.try_emplace(endpoint, std::move(channel), key, now);
  return {};
}

bool Peers::send(const std::string& endpoint, const pb::FarmMessage& message) {
  const auto peer = peers_.find(endpoint);
  return peer != peers_.end() && peer->second.channel.send(message);
}

void Peers::add_channels(std::vector<Channel*>& channels) {
  for (auto& [endpoint, peer] : peers_) channels.push_back(&peer.channel);
}

void Peers::turn(Artifacts& artifacts, Clock::time_point now) {
  for (auto& [endpoint, peer] : peers_) take_messages(artifacts, endpoint, peer);
  for (const Artifacts::Failure& failure : artifacts.take_failures())
    take_failure(artifacts, failure);
  std::erase_if(peers_, [&](const auto& entry) {
    return now - entry.second.used > kPeerIdle || avoided_.contains(entry.first);
  });
  std::erase_if(avoided_, [&](const auto& entry) { return now >= entry.second; });
  std::erase_if(warned_, [&](const auto& entry) { return now - entry.second >= kWarnPause; });
}

void Peers::take_messages(Artifacts& artifacts, const std::string& endpoint, Peer& peer) {
  if (const auto error = peer.channel.take_key_error())
    return avoid(artifacts, endpoint, error->message);
  for (int i = 0; i < kPeerMessagesAtOnce; ++i) {
    const auto incoming = peer.channel.receive();
    if (!incoming) return;
    peer.used = Clock::now();
    const pb::FarmMessage& message = incoming->message;
    if (message.has_piece()) artifacts.take(endpoint, message.piece(), incoming->bytes.bytes);
    if (message.has_refused())
      return avoid(artifacts, endpoint, failure_error(message.refused()).message);
  }
}

void Peers::take_failure(Artifacts& artifacts, const Artifacts::Failure& failure) {
  if (failure.is_lie) send(failure.holder, check_question(failure.digest));
  const bool is_reported = warned_.contains(failure.holder) || warned_.size() >= kMaxRemembered;
  const std::initializer_list<FarmLog::Field> fields = {
      {"peer", failure.holder}, {"artifact", short_key(failure.digest)}, {"why", failure.why}};
  if (is_reported) {
    log_.detail("peer failed", fields);
  } else {
    warned_[failure.holder] = Clock::now();
    log_.warn("peer failed", fields);
  }
  if (failure.is_silent) avoid(artifacts, failure.holder, failure.why);
}

void Peers::avoid(Artifacts& artifacts, const std::string& endpoint, const std::string& why) {
  if (avoided_.size() < kMaxRemembered) avoided_[endpoint] = Clock::now() + kAvoidance;
  artifacts.give_up_holder(endpoint, why);
}

}  // namespace sluice
