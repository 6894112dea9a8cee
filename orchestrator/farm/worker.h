// sluice-worker: runs jobs that a dispatcher gives it, each in a process, from a store of its own
// into which it gets what is missing there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/wire/security.h"
#include "orchestrator/farm/peer_server.h"

namespace sluice {

struct WorkerRequest {
  std::string endpoint;
  ConnectorKeys keys;
  PeerServerRequest serve;  // other workers
  std::string store;
  int64_t slots = 1;    // jobs at once
  int64_t threads = 1;  // of each
  bool is_sandboxed = false;
  uint64_t job_bytes = 0;               // of memory that each may have; 0: its share of the machine
  std::optional<int64_t> idle_seconds;  // without work, until it ends; none: it stays
  bool allows_passes = false;           // jobs may have passes of users
  std::vector<std::string> job_options;  // of sluice-job
  bool log_json = false;
  int log_level = 1;
};

// Serves until SIGTERM, SIGINT or SIGHUP: then it takes nothing further, ends what runs, and
// reports that to the dispatcher, unless it is silent; a second signal ends it at once. Before a
// signal a dispatcher that is silent is waited for. Errors: kBadOption, kIo, kProgramMissing; those
// of PeerServer::listen; kKeyRefused, when its key was refused from the beginning; that of a
// dispatcher that refuses it.
Result<int> run_worker(const WorkerRequest& request);

}  // namespace sluice
