// Who runs the jobs of sluice-compile-all: processes of this machine, a Slurm cluster, or a farm.
#pragma once

#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"
#include "orchestrator/farm/farm_client.h"
#include "orchestrator/plan/job_events.h"
#include "orchestrator/store/remote_url.h"

namespace sluice {

struct LocalProvider {
  int64_t jobs = 1;     // processes at once
  int64_t threads = 1;  // of each
  RemoteUrl remote;     // of their store; empty: none
};

struct SlurmProvider {
  int64_t batch = 10;                // jobs of a task, for a task should take ten seconds
  std::vector<std::string> options;  // more words for sbatch
  RemoteUrl remote;                  // without a login, which others could read; empty: none
};

// Runs the jobs, which are in the store. Returns when all have ended, or when events.ended or
// an interrupt stopped them. Errors: kProgramMissing, kIo.
Result<void> run_locally(const LocalProvider& provider, const Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);
// Errors: also kIo with what sbatch or squeue said.
Result<void> run_on_slurm(const SlurmProvider& provider, Store& store,
                          const std::vector<Digest>& keys, const JobEvents& events);

}  // namespace sluice
