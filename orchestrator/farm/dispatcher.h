// sluice-farm: hands jobs of clients to workers. It is one thread: a turn takes the messages that
// have come, decides, commits what is to outlive it in one transaction, and only then says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/wire/security.h"
#include "orchestrator/farm/slurm_workers.h"

namespace sluice {

struct DispatcherRequest {
  std::string endpoint;
  ListenerKeys keys;
  std::string state;  // folder: jobs, and the inputs of those that are quarantined
  std::string store;
  std::string metrics;                       // HOST:PORT of the metrics; empty: none
  std::optional<SlurmWorkersRequest> slurm;  // none: Slurm runs no workers
  size_t verifying = 1;                      // processes that verify products
  uint64_t max_jobs = 1000000;
  bool is_synced = false;  // commits survive a loss of power
  bool log_json = false;
  int log_level = 1;
};

// Serves until SIGTERM, SIGINT or SIGHUP, or until it has been drained. Whatever happens to it,
// another one that is started with the same state goes on. Errors: kIo, kBadOption.
Result<int> run_dispatcher(const DispatcherRequest& request);

}  // namespace sluice
