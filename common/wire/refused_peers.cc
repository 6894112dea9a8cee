#include "common/wire/refused_peers.h"

namespace sluice {
namespace {

constexpr size_t kMaxReported = 1000;
constexpr int kMaxPerMinute = 60;
constexpr std::chrono::seconds kPause{10};  // between lines about peers without keys

}  // namespace

void RefusedPeers::add(RefusedPeer peer, Clock::time_point now) {
  const std::string& name = peer.key.empty() ? peer.why : peer.key;
  const auto reported = reported_.find(name);
  if (reported != reported_.end() && (!peer.key.empty() || now - reported->second < kPause)) return;
  if (now - minute_ > std::chrono::minutes(1)) {
    minute_ = now;
    reported_in_minute_ = 0;
  }
  if (++reported_in_minute_ > kMaxPerMinute) return;
  if (reported_.size() >= kMaxReported) reported_.clear();
  reported_[name] = now;
  peers_.push_back(std::move(peer));
}

}  // namespace sluice
