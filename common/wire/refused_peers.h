// Those that a listening side refused, for its log. Each key is reported once, and never so many
// that a stranger could fill a disk with them.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct RefusedPeer {
  std::string key;      // public; empty when the peer did not come so far as to show one
  std::string address;  // empty when it is not known
  std::string why;
};

class RefusedPeers {
 public:
  using Clock = std::chrono::steady_clock;
  void add(RefusedPeer peer, Clock::time_point now = Clock::now());
  void forget(const std::string& key) { reported_.erase(key); }  // it was let in
  std::vector<RefusedPeer> take() { return std::exchange(peers_, {}); }

 private:
  std::vector<RefusedPeer> peers_;
  std::map<std::string, Clock::time_point> reported_;  // by key; by reason, of those without one
  Clock::time_point minute_{};
  int reported_in_minute_ = 0;
};

}  // namespace sluice
