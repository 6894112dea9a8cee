// The client's side of a farm: submits jobs of a store, gives the dispatcher what they read, and
// brings their products into the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/store/store.h"
#include "common/wire/security.h"
#include "orchestrator/plan/job_events.h"

namespace sluice {

struct FarmProvider {
  std::string endpoint;  // of the dispatcher
  ConnectorKeys keys = {};
  int32_t priority = 0;
};

// Runs the jobs, which are in the store, and brings their products there. Returns when all have
// ended, or when events.ended or an interrupt stopped them. The connection may break, and the
// dispatcher start again, meanwhile. Errors: kPeerLost, when nobody answers from the beginning, or
// for ten minutes later on; kBadOption; kKeyRefused; that of a dispatcher that refuses the jobs.
Result<void> run_on_farm(const FarmProvider& provider, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events);

}  // namespace sluice
