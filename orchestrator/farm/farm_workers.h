// The workers of the dispatcher, and what each has been given: leases, of which those of one group
// run together in one slot.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/farm/farm_job.h"

namespace sluice {

struct FarmLease {
  Digest key;
  uint64_t group = 0;
  FarmClock::time_point assigned{};  // or sent again
  bool has_begun = false;
};

struct FarmWorker {
  std::string id;
  std::string peer;     // its connection
  std::string user;     // the name of its key; empty where there are no keys
  pb::WorkerBeat beat;  // what it said last
  std::map<uint64_t, FarmLease> leases;
  FarmClock::time_point last_heard{};
  bool is_reachable = true;  // its connection was there when something was sent last
  bool is_alone = false;     // runs one job and gets no other meanwhile
  bool is_excluded = false;  // it has lied too often
  uint64_t done = 0;         // jobs that it ended

  size_t groups() const;
  bool takes_jobs() const;
};

// What a job has to do with the loss of its worker.
enum class Blame : uint8_t {
  kNone,      // it had not begun
  kExcused,   // workers without it were lost at about the same time
  kTogether,  // other jobs ran beside it
  kAlone,
};

struct LostLease {
  uint64_t number = 0;
  Digest key;
  Blame blame = Blame::kNone;
};

class FarmWorkers {
 public:
  // Leases of this start of the dispatcher have numbers from first_lease on.
  void begin(uint64_t first_lease) { next_lease_ = first_lease; }

  const std::map<std::string, FarmWorker>& all() const { return workers_; }
  std::map<std::string, FarmWorker>& all() { return workers_; }
  FarmWorker* find(const std::string& id);
  FarmWorker* find_at(const std::string& peer);                    // by its connection
  FarmWorker& get(const std::string& id) { return workers_[id]; }  // makes it when it is new
  uint64_t slots() const;
  // Returns the bytes of memory that a job can have at the largest worker that takes jobs.
  uint64_t largest_memory() const;
  // The numbers of all leases, with the workers that have them.
  const std::map<uint64_t, std::string>& leases() const { return leases_; }
  bool has(const std::string& id, uint64_t lease) const;
  FarmWorker* holder(uint64_t lease);

  // Gives jobs to a worker as one group, and returns the numbers of their leases.
  std::vector<uint64_t> give(FarmWorker& worker, const std::vector<Digest>& keys);
  // Notes a lease that the worker had before.
  void adopt(FarmWorker& worker, uint64_t number, const FarmLease& lease);
  void free(uint64_t number);
  // Notes how a worker is reached, and whose key it has.
  void connect(FarmWorker& worker, const std::string& peer, const std::string& user);
  // Counts an artifact of those at the peer that was not what they said. With the third, all
  // workers of their key, or without keys of their connection, get nothing more until the
  // dispatcher is started again. Returns whether this is the third.
  bool count_lie(const std::string& peer);
  // Removes a worker, and says what that means for its jobs.
  std::vector<LostLease> remove(const std::string& id, FarmClock::time_point now);

 private:
  struct Loss {  // of a worker that did not say that it ends
    FarmClock::time_point time;
    std::set<Digest> keys;
  };
  std::map<std::string, FarmWorker> workers_;
  std::unordered_map<std::string, std::string> by_peer_;  // connections and ids
  std::map<uint64_t, std::string> leases_;
  std::deque<Loss> losses_;          // of the last seconds
  std::map<std::string, int> lies_;  // by liar_of()
  uint64_t next_lease_ = 1;
};

}  // namespace sluice
