// sluice-worker --listen: takes runs of stages from clients themselves, without a dispatcher, in
// the messages of the farm. To a client it looks like a dispatcher that has one kind of job
// (compile/sent_stage.h); each run is a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/sandbox/sandbox.h"
#include "common/wire/security.h"

namespace sluice {

struct StageWorkerRequest {
  std::string stage;  // the only one that it runs; empty: any
  std::string endpoint;
  ListenerKeys keys;
  std::string store;               // also of the clients; empty: one that ends with the worker
  size_t slots = 1;                // runs at once; the others wait
  uint64_t max_input_bytes = 0;    // of one input that is sent
  std::optional<Sandbox> sandbox;  // limits of runs; none: they run without one
  bool allows_passes = false;      // runs may have passes of users
  bool log_json = false;
  int log_level = 1;
};

// Serves until SIGTERM, SIGINT or SIGHUP, which end it with success: what runs is killed, and the
// clients are told. Announces its endpoint on stderr. Errors: kBadOption for an endpoint that needs
// keys, kIo when it cannot listen there, those of the files of keys.
Result<int> run_stage_worker(const StageWorkerRequest& request);

}  // namespace sluice
