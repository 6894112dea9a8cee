// The clients of the dispatcher, and which ends of jobs are still to be reported to each. Ends are
// numbered for each client; it says how many it has taken, and gets the others again.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_set>

#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/farm_state.h"

namespace sluice {

struct FarmClient {
  std::string id, owner;
  std::string peer;           // its connection; empty: it has not come back since a start
  uint64_t ended = 0;         // number of the last end
  uint64_t sent = 0;          // number of the last end that was sent
  std::deque<Digest> unseen;  // keys of the last ends, up to that of number `ended`
  std::unordered_set<Digest, DigestHash> open;  // keys of jobs that have not ended
  FarmClock::time_point last_heard{};
  FarmClock::time_point last_sent{};

  uint64_t seen() const { return ended - unseen.size(); }
  // Returns the key of the end with this number, above seen().
  const Digest& key_of(uint64_t number) const { return unseen[number - seen() - 1]; }
};

// Returns the message that reports to a client the ends after `sent`, as many as fit, and notes
// them as sent. jobs: find the end of a key. Of a job that was begun again, or is gone, there is
// only its key.
pb::Ended next_ends(FarmClient& client, const FarmJobs& jobs);

}  // namespace sluice
