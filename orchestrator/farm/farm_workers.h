// The workers of the dispatcher, and what each has been given: leases, of which those of one group
// run together in one slot.
#pragma once

#include <map>
#include <string>

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
  pb::WorkerBeat beat;  // what it said last
  std::map<uint64_t, FarmLease> leases;
  FarmClock::time_point last_heard{};
  bool is_reachable = true;  // its connection was there when something was sent last
  bool is_alone = false;     // runs one job and gets no other meanwhile
  uint64_t lies = 0;         // artifacts that did not have their digest, or did not verify
  uint64_t done = 0;         // jobs that it ended

  size_t groups() const;
  size_t begun() const;  // leases
};

}  // namespace sluice
