// The dispatcher's jobs from their coming to their end, and which clients requested them. It uses
// no sockets: the dispatcher calls it with what happened, and reads from it what is to be reported
// to which client.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_clients.h"
#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/farm_log.h"
#include "orchestrator/farm/farm_state.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/ready_queue.h"

namespace sluice {

inline constexpr int kMaxLosses = 3;          // with other jobs beside it; then it runs alone
inline constexpr int kMaxLossesAlone = 3;     // then it is quarantined
inline constexpr int kMaxLossesExcused = 20;  // then, too
inline constexpr int kMaxFailures = 4;        // transient ones

struct BoardCounts {
  uint64_t submitted = 0, ended = 0, failed = 0, found = 0, retried = 0, quarantined = 0;
};

class JobBoard {
 public:
  // quarantine: a folder where the inputs of quarantined jobs are kept.
  JobBoard(Store& store, Artifacts& artifacts, FarmState state, std::string quarantine,
           const FarmLog& log, FarmNow now = FarmClock::now)
      : store_(store),
        artifacts_(artifacts),
        state_(std::move(state)),
        quarantine_(std::move(quarantine)),
        log_(log),
        now_(std::move(now)) {}

  // Takes what an earlier dispatcher left. Jobs that were running are ready again.
  Result<void> load();

  // ---- clients
  FarmClient& client(const std::string& id, const std::string& owner, const std::string& peer);
  FarmClient* find_client(const std::string& id);
  std::map<std::string, FarmClient>& clients() { return clients_; }
  const std::map<std::string, FarmClient>& clients() const { return clients_; }
  // The client requests the end of a job, which is new or not.
  Result<void> submit(FarmClient& client, FarmJob job);
  // The client has taken ends up to a number.
  Result<void> take_seen(FarmClient& client, uint64_t seen);
  // Jobs that no other client requested and that no worker has are dropped.
  Result<void> remove_client(const std::string& id);

  // ---- jobs
  FarmJob* find(const Digest& key);
  const FarmJobs& jobs() const { return jobs_; }
  const ReadyQueue& queue() const { return ready_; }
  size_t ready() const { return ready_.size() + alone_.size(); }
  bool has_alone() const { return !alone_.empty(); }
  // Takes ready jobs for a worker.
  std::vector<Digest> take(const std::function<bool(const std::string& needs)>& fits,
                           const std::function<size_t(const std::string& kind)>& count);
  // Returns a ready job that must run alone; it is taken by begin().
  std::optional<Digest> find_alone(const std::function<bool(const std::string& needs)>& fits);
  void begin(FarmJob& job, uint64_t lease);
  // A lease has ended with its worker.
  Result<void> lose(FarmJob& job, uint64_t lease, Blame blame);
  // It failed, and may succeed elsewhere.
  Result<void> retry(FarmJob& job, const pb::JobEnd& end);
  Result<void> end(FarmJob& job, pb::JobEnd end);
  // Its product could not be taken, which was not its fault: it runs again a little later.
  void put_back(FarmJob& job);
  // A quarantined job may be submitted again.
  Result<void> release(const Digest& key);

  // ---- time
  FarmClock::time_point now() const { return now_(); }
  // An artifact has come, or will not.
  Result<void> take_arrival(const Artifacts::Arrival& arrival);
  Result<void> turn(FarmClock::time_point now);
  Result<void> commit() { return commit_clients_and_state(); }

  const BoardCounts& counts() const { return counts_; }
  FarmState& state() { return state_; }

 private:
  Result<void> add(FarmClient& client, FarmJob job);
  bool has_product(const Record& record);
  bool is_late(const FarmClient& client, const Digest& key) const;
  bool has_lost_product(const FarmJob& job);
  Result<std::optional<Record>> find_product(const Digest& key);
  Result<void> want_inputs(FarmJob& job);
  Result<void> want_input(FarmJob& job, const Digest& digest);
  Result<void> want_list(FarmJob& job, const Digest& digest);
  std::string peer_of(const FarmJob& job) const;
  void look_for_records();
  void make_ready(FarmJob& job);
  Result<void> note_end(const std::string& client, const Digest& key);
  Result<void> forget_if_unwanted(const Digest& key);
  Result<void> quarantine(FarmJob& job);
  void keep_inputs(const FarmJob& job);
  Result<void> commit_clients_and_state();

  Store& store_;
  Artifacts& artifacts_;
  FarmState state_;
  const std::string quarantine_;
  const FarmLog& log_;
  const FarmNow now_;
  FarmJobs jobs_;
  std::map<std::string, FarmClient> clients_;
  std::set<std::string> changed_clients_;
  ReadyQueue ready_;
  std::deque<Digest> alone_;
  std::multimap<FarmClock::time_point, Digest> delayed_;
  std::map<Digest, std::set<Digest>> missing_;  // artifact -> jobs that wait for it
  std::set<Digest> lost_inputs_;                // artifacts that are to be asked for again
  std::string last_fault_;                      // of an input, as it was reported
  std::set<Digest> anew_;     // keys of ends that are gone, and not reported to clients yet
  bool has_records_ = false;  // others keep records of products in the store
  FarmClock::time_point next_asking_{};
  BoardCounts counts_;
};

// Returns the end of a job for which there is no product.
pb::JobEnd failed_end(const Digest& key, ExitClass code, const std::string& text);

}  // namespace sluice
