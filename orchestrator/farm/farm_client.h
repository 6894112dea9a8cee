// The client's side of a farm: submits jobs of a store, gives the dispatcher what they read, and
// brings their products into the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/store/store.h"
#include "common/wire/security.h"
#include "orchestrator/plan/job_events.h"

namespace sluice {

class Channel;

enum class FarmListener {
  kDispatcher,  // which may start again, and is waited for
  kWorker,      // which runs a job itself (farm/stage_worker.h)
};

struct FarmProvider {
  std::string endpoint;
  ConnectorKeys keys = {};
  int32_t priority = 0;
  FarmListener listener = FarmListener::kDispatcher;
  std::function<bool()> is_over = [] { return false; };  // nothing comes any more
};

// Runs the jobs, which are in the store, and brings their products there. Returns when all have
// ended, or when events.ended, is_over or an interrupt stopped them. The connection may break, and
// the dispatcher start again, meanwhile. Errors: kPeerLost, when nobody answers from the beginning,
// or for ten minutes later on, and at once for a worker; kBadOption; kKeyRefused; that of a
// dispatcher that refuses the jobs.
Result<void> run_on_farm(const FarmProvider& provider, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);
// The same over a channel to the endpoint that serves other calls, too.
Result<void> run_on_farm(const FarmProvider& provider, Channel& channel, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);

}  // namespace sluice
