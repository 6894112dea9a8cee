// The service's side: a ROUTER that takes jobs from any number of clients, runs each in a separate
// process, sends heartbeats while they run, and survives any message.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "common/base/result.h"
#include "common/wire/job_process.h"
#include "common/wire/payload.h"
#include "common/wire/refused_peers.h"
#include "common/wire/security.h"
#include "control.pb.h"

namespace sluice {

struct ServiceOptions {
  std::string endpoint;
  ListenerKeys keys;
  uint64_t max_frame = kMaxFrameBytes;
  size_t jobs = 1;           // at once; the others wait
  uint64_t max_seconds = 0;  // that a job may take, by the clock; 0: any
  // Called with what a job that succeeded has handed over, if anything.
  std::function<void(std::span<const std::byte> bytes)> keep = [](const auto&) {};
  // Called once, when clients can connect.
  std::function<void(const std::string& endpoint)> ready = [](const auto&) {};
  // Called for those that are refused because of their keys.
  std::function<void(const RefusedPeer& peer)> refused = [](const auto&) {};
};

// Serves until SIGTERM, SIGINT or SIGHUP, which end it with success: running jobs are killed and
// their clients notified. Errors: kBadOption for an endpoint that needs keys, kIo when it cannot
// listen there, those of the files of keys. Must be called before there are other threads.
Result<void> serve(const ServiceOptions& options, const wire::JobBody& body);

}  // namespace sluice
