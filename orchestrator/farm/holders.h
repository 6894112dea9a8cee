// Which workers have which large artifacts, so that others get them there: the dispatcher sends
// each about once, to the first worker that asks; the others wait until it has come, and are
// referred to those who have it, each of whom then has it to give, too.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/farm_workers.h"

namespace sluice {

class Holders {
 public:
  using Send = std::function<void(const std::string& peer, const pb::FarmMessage& message)>;

  Holders(const Store& store, FarmWorkers& workers, Send send)
      : store_(store), workers_(workers), send_(std::move(send)) {}

  // Returns whether the question of a peer has been answered with something other than bytes: it
  // was referred to a holder, or has to wait for one.
  bool answer(const std::string& peer, const pb::Get& get, FarmClock::time_point now);
  // Takes what a worker has got, after its beat was kept.
  void take_beat(const FarmWorker& worker, FarmClock::time_point now);
  void remove(const std::string& worker);
  // Returns the number of bytes that workers have got from each other.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Referral {
    std::string asker, holder;
    FarmClock::time_point until;  // then it counts no more
  };
  struct Artifact {  // its workers are ids
    uint64_t total = 0;
    std::deque<std::string> holders;  // the first one has waited longest for an asker
    std::string getter;               // gets it from here; empty: nobody
    FarmClock::time_point getter_until{};
    std::vector<Referral> referrals;
    std::deque<std::string> waiting;
  };

  Artifact* find(const Digest& digest);
  Artifact* make(const Digest& digest);
  const FarmWorker* pick(Artifact& artifact, const std::string& asker);
  bool is_answered(const Digest& digest, Artifact& artifact, const FarmWorker& asker,
                   FarmClock::time_point now);
  static void begin_getting(Artifact& artifact, const FarmWorker& worker,
                            FarmClock::time_point now);
  void drop_holder(Artifact& artifact, const std::string& endpoint);
  void refer(const Digest& digest, const Artifact& artifact, const FarmWorker& asker,
             const FarmWorker& holder);
  void refer_waiting(const Digest& digest, Artifact& artifact, FarmClock::time_point now);
  void take_got(const FarmWorker& worker, const Digest& digest, FarmClock::time_point now);
  void count_bytes(const FarmWorker& worker);

  const Store& store_;
  FarmWorkers& workers_;
  const Send send_;
  std::map<Digest, Artifact> artifacts_;
  std::deque<Digest> order_;                 // the oldest one first
  std::map<std::string, uint64_t> counted_;  // bytes, by worker
  uint64_t bytes_ = 0;
};

}  // namespace sluice
