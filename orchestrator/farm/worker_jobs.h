// The jobs of a worker from the coming of a lease to its end: inputs are brought, a process runs,
// its product is found in the store.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/descriptor.h"
#include "common/store/store.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/farm_log.h"
#include "orchestrator/process/process.h"

namespace sluice {

class WorkerJobs {
 public:
  // command: sluice-job with its options; keys are added.
  WorkerJobs(Store& store, Artifacts& artifacts, std::vector<std::string> command, size_t slots,
             const FarmLog& log)
      : store_(store),
        artifacts_(artifacts),
        command_(std::move(command)),
        slots_(slots),
        log_(log) {}
  ~WorkerJobs();
  WorkerJobs(const WorkerJobs&) = delete;
  WorkerJobs& operator=(const WorkerJobs&) = delete;

  void take(const pb::Assign& assign);
  void take(const pb::Revoke& revoke);
  void take(const pb::DoneTaken& taken);
  void take_arrival(const Artifacts::Arrival& arrival);
  // Drops what has not begun.
  void drop_waiting();

  // Takes what has ended and starts what can be. Returns whether anything has changed.
  bool turn();
  void add_descriptors(std::vector<int>& descriptors) const;
  std::vector<pb::Running> running() const;
  // Returns what is to be said, once or again.
  std::vector<pb::Done> reports(FarmClock::time_point now);
  bool is_idle() const { return leases_.empty(); }
  bool has_processes() const { return !processes_.empty(); }
  // Returns whether something has failed since the last call for which the store may be too full.
  bool take_may_be_full() { return std::exchange(may_be_full_, false); }

 private:
  struct Lease {
    FarmJob job;
    uint64_t group = 0;
    int damaged = 0;  // inputs that came with other bytes
    bool has_begun = false;
    std::optional<pb::Done> done;
    FarmClock::time_point reported{};
  };
  struct Process {
    pid_t child = 0;
    Descriptor handle, messages;
    std::vector<uint64_t> leases;
    FarmClock::time_point begun = FarmClock::now();
    Ending ending;
  };

  void add(uint64_t number, uint64_t group, const pb::Lease& lease);
  void want_inputs(Lease& lease);
  void want_input(Lease& lease, const Digest& digest);
  bool find_product(uint64_t number, Lease& lease);
  void fail(uint64_t number, Lease& lease, int code, const std::string& text, bool is_transient);
  bool start_group(uint64_t group);
  void end_process(Process& process);
  bool has_lost_input(const Lease& lease);
  void end_lease(uint64_t number, Lease& lease, const Process& process, bool is_killed);

  Store& store_;
  Artifacts& artifacts_;
  const std::vector<std::string> command_;
  const size_t slots_;
  const FarmLog& log_;
  bool may_be_full_ = false;
  std::map<uint64_t, Lease> leases_;
  std::vector<Process> processes_;
};

}  // namespace sluice
