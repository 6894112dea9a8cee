// sluice-job: runs what has been written down in a store as jobs: compiles of sluice-compile-all,
// and kernels of sluice-subgraph-optimize --kernels. Every job can run twice, at the same time or
// after being killed: its product appears whole, and is the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/sandbox/sandbox.h"
#include "orchestrator/store/remote_url.h"

namespace sluice {

struct JobRequest {
  std::string store;
  std::vector<Digest> keys;        // run in this order
  RemoteUrl remote;                // empty: none
  std::string threads;             // --threads for the stages; empty: their default
  bool allows_passes = false;      // jobs may have passes of users
  bool quiet = false;              // no lines of jobs, no warnings
  std::optional<Sandbox> sandbox;  // limits of the stages; empty: they run without
};

// Returns the keys of these texts, and of the lines of a file unless its name is empty. Errors:
// kUsage for what is no key, and when there is none; those of reading the file.
Result<std::vector<Digest>> read_keys(std::vector<std::string> texts, const std::string& file);

// Prints a line for each job. Returns the exit code of the first that failed; the others run all
// the same. The error of a failed job is kept in the store. Errors of the request: kNotFound, when
// the store has no such job.
Result<int> run_jobs(const JobRequest& request);

}  // namespace sluice
