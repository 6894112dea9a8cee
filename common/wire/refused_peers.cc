#include "common/wire/refused_peers.h"

namespace sluice {
namespace {

constexpr size_t kMaxTold = 1000;
constexpr int kMaxPerMinute = 60;
constexpr std::chrono::seconds kPause{10};  // between lines about peers without keys

}  // namespace

void RefusedPeers::add(RefusedPeer peer, Clock::time_point now) {
  const std::string& name = peer.key.empty() ? peer.why : peer.key;
  const auto told = told_.find(name);
  if (told != told_.end() && (!peer.key.empty() || now - told->second < kPause)) return;
  if (now - minute_ > std::chrono::minutes(1)) {
    minute_ = now;
    told_in_minute_ = 0;
  }
  if (++told_in_minute_ > kMaxPerMinute) return;
  if (told_.size() >= kMaxTold) told_.clear();
  told_[name] = now;
  peers_.push_back(std::move(peer));
}

}  // namespace sluice
