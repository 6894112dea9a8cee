// The decisions of the dispatcher: it takes messages, and in a turn gives jobs to workers, ends
// them, and says what has become durable. It has no socket and no clock of its own, and waits for
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "common/wire/channel.h"
#include "orchestrator/farm/acceptance.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/assignment.h"
#include "orchestrator/farm/client_messages.h"
#include "orchestrator/farm/farm_status.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/holders.h"
#include "orchestrator/farm/job_board.h"
#include "orchestrator/farm/unfit_jobs.h"

namespace sluice {

inline constexpr std::chrono::milliseconds kDispatcherTick{
    100};  // what waits is looked at so often

struct DispatchOptions {
  std::string store, state;  // folders
  size_t verifying = 1;      // processes that verify products
  uint64_t max_jobs = 1000000;
};

// The world around it.
struct DispatchSeams {
  // Sends without waiting. Returns whether the message is on its way.
  std::function<bool(const std::string& peer, const pb::FarmMessage& message, Payload bytes)> send;
  FarmNow now = FarmClock::now;
  std::function<uint64_t()> dropped = [] { return uint64_t{0}; };  // messages that were none
};

class Dispatch {
 public:
  Dispatch(const DispatchOptions& options, FarmState state, const FarmLog& log,
           DispatchSeams seams);

  // Takes what an earlier dispatcher with the same state left. Errors: kIo.
  Result<void> begin();
  Result<void> take(const Incoming& incoming);
  // What is to outlive it is committed in one transaction, and only then said. Errors: kIo.
  Result<void> turn();

  // Drained, and everybody knows what has become of the jobs.
  bool is_over() const { return is_over_; }
  bool is_idle() const { return board_.jobs().empty() && workers_.all().empty(); }
  // Returns the number of workers that the jobs of now could use, when each has as many slots as
  // those that are here.
  size_t wanted_workers() const;
  uint64_t come_workers() const { return come_workers_; }
  size_t jobs() const { return board_.jobs().size(); }
  FarmStatus status() const;
  // The descriptors that become readable when a turn has something to do.
  void add_descriptors(std::vector<int>& descriptors) const {
    acceptance_.add_descriptors(descriptors);
  }
  // Returns those whose messages their keys do not allow.
  std::vector<RefusedPeer> take_refused() { return refused_.take(); }

 private:
  struct From {
    std::string peer;
    uint64_t lease = 0;
  };

  void free_space_now(FarmClock::time_point now);
  Result<void> tick(FarmClock::time_point now);
  void refuse(const std::string& peer, const Error& error);
  bool check_release(const std::string& peer, const std::string& release);
  void take_get(const Incoming& incoming, const pb::Get& get);
  Result<void> take_release(const Incoming& incoming, const pb::Release& release);
  Result<void> take_worker_beat(const Incoming& incoming, const pb::WorkerBeat& beat);
  Result<void> take_running(FarmWorker& worker, const pb::WorkerBeat& beat);
  Result<void> take_back(FarmWorker& worker, const std::vector<uint64_t>& numbers);
  bool adopt(FarmWorker& worker, const pb::Running& running);
  Result<void> lose_worker(const std::string& id);
  void count_lie(const std::string& peer);
  void send_assign(FarmWorker& worker, const std::vector<uint64_t>& leases);
  Result<void> take_done(const Incoming& incoming, const pb::Done& done);
  Result<void> take_outcome(const Acceptance::Outcome& outcome);
  Result<void> end_job(FarmJob& job, const pb::JobEnd& end);
  void free_lease(uint64_t number);
  void note_taken(const std::string& peer, uint64_t lease) { taken_[peer].push_back(lease); }
  void report_after_commit();
  void send_status(const std::string& peer);

  const FarmLog& log_;
  const DispatchSeams seams_;
  Store store_;
  Artifacts artifacts_;
  Acceptance acceptance_;
  JobBoard board_;
  FarmWorkers workers_;
  Assignment assignment_;
  Holders holders_;
  UnfitJobs unfit_;
  ClientMessages clients_;
  std::map<Digest, From> accepting_;
  RefusedPeers refused_;
  std::map<std::string, std::vector<uint64_t>> taken_;  // leases, by peer
  uint64_t come_workers_ = 0, lost_workers_ = 0, sent_bytes_ = 0;
  FarmClock::time_point next_tick_{}, next_collection_, next_freeing_{}, next_look_{}, last_get_{};
  bool is_draining_ = false, is_over_ = false;
};

}  // namespace sluice
