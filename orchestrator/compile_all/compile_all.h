// sluice-compile-all: the compiles of a manifest. Each model is imported here; the rest is jobs in
// the store, one for compiles that are equal, run by a provider. What ends is put under its name at
// once, so that a second run goes on where the first one was stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/compile_all/provider.h"

namespace sluice {

struct CompileAllRequest {
  std::string manifest;
  std::string store;
  RemoteUrl remote;           // empty: none
  std::string output_folder;  // empty: the manifest's
  std::string result;         // JSON file; empty: none
  enum class Provider { kLocal, kSlurm, kFarm } provider = Provider::kLocal;
  LocalProvider local;
  SlurmProvider slurm;
  FarmProvider farm;
  bool keeps_going = false;  // after a failure
  bool quiet = false;
};

// Prints a line for each compile that ended. Returns the exit code: 0, or that of the first compile
// of the manifest that failed. Errors of the run itself: those of the manifest and the provider.
Result<int> compile_all(const CompileAllRequest& request);

}  // namespace sluice
