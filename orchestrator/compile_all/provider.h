// Who runs the jobs of sluice-compile-all: processes of this machine, a Slurm cluster, or a farm.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"
#include "common/wire/security.h"
#include "orchestrator/store/remote_url.h"

namespace sluice {

// What a provider tells, from any thread.
struct JobEvents {
  std::function<void(const Digest& key)> began;
  // Once for each job: its product, or its failure, is in the store, or it was lost. Returns
  // whether further jobs are to start.
  std::function<bool(const Digest& key)> ended;
  // A warning of a job that is not in the store, such as one about a remote store.
  std::function<void(const std::string& text)> warned;
};

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

struct FarmProvider {
  std::string endpoint;  // of the dispatcher
  ConnectorKeys keys;
  int32_t priority = 0;
};

// Runs the jobs, which are in the store. Returns when all have ended, or when events.ended or
// an interrupt stopped them. Errors: kProgramMissing, kIo.
Result<void> run_locally(const LocalProvider& provider, const Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);
// Errors: also kIo with what sbatch or squeue said.
Result<void> run_on_slurm(const SlurmProvider& provider, Store& store,
                          const std::vector<Digest>& keys, const JobEvents& events);

// Brings the products into the store. The connection may break, and the dispatcher start again,
// meanwhile. Errors: kPeerLost, when nobody answers from the beginning, or for ten minutes later
// on; kBadOption; kKeyRefused; that of a dispatcher that refuses the jobs.
Result<void> run_on_farm(const FarmProvider& provider, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);

}  // namespace sluice
