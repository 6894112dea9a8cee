// Products on their way from a worker into the dispatcher's store. One is accepted when its record
// is that of its job, its artifacts have come and have their digests, and a compiled model passes
// sluice-verify, which runs beside the dispatcher.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/store/store.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_job.h"

namespace sluice {

class Acceptance {
 public:
  struct Outcome {
    Digest key;
    std::string worker;
    pb::JobEnd end;
    std::string fault;       // empty: it is accepted
    bool is_lie = false;     // the worker's fault
    bool is_silent = false;  // the worker does not send it
  };

  Acceptance(Store& store, Artifacts& artifacts, size_t at_once)
      : store_(store), artifacts_(artifacts), at_once_(at_once) {}
  ~Acceptance();
  Acceptance(const Acceptance&) = delete;
  Acceptance& operator=(const Acceptance&) = delete;

  // Begins with what a worker says that it has made of a job.
  void begin(const FarmJob& job, const std::string& worker, const std::string& peer,
             const pb::JobEnd& end);
  void take_arrival(const Artifacts::Arrival& arrival);
  // The descriptors to wait for: processes that verify.
  void add_descriptors(std::vector<int>& descriptors) const;
  // Takes what has been verified, and starts what waits for that.
  void turn();
  std::vector<Outcome> take_outcomes() { return std::exchange(outcomes_, {}); }

 private:
  struct Candidate {
    std::string worker;
    pb::JobEnd end;
    std::set<Digest> missing;
    std::optional<Digest> model;  // of a compile
  };
  struct Process {
    Digest key;
    pid_t child = 0;
    Descriptor handle;
  };

  void check(const Digest& key);
  void decide(const Digest& key, const std::string& fault, bool is_lie, bool is_silent = false);
  bool start(const Digest& key);

  Store& store_;
  Artifacts& artifacts_;
  const size_t at_once_;
  std::map<Digest, Candidate> candidates_;
  std::map<Digest, std::set<Digest>> missing_;  // artifact -> jobs
  std::deque<Digest> waiting_;                  // to be verified
  std::vector<Process> processes_;
  std::vector<Outcome> outcomes_;
};

}  // namespace sluice
