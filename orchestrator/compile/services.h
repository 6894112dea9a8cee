// --transport zmq: runs each stage as a job of a service; its graphs travel as frames.
#pragma once

#include <map>

#include "common/wire/security.h"
#include "orchestrator/compile/stage_run.h"

namespace sluice {

struct ServiceChoice {
  std::map<std::string, std::string>
      endpoints;       // of services that run already, by stage; the others are started here
  ConnectorKeys keys;  // for those
  std::string store;   // which services that run already have too; empty: none
  uint32_t heartbeat_ms = 1000;
  bool error_json = false;         // errors of jobs, printed as the stage would
  std::optional<Sandbox> sandbox;  // of jobs of the services that are started here
};

// Works like run_pipeline, but the last stage's output becomes the file `product`. Services that
// are started here listen in `folder`, a folder of this program, and end with this call. Further
// errors: kPeerLost, kBadReply, kKeyRefused, kLimit.
Result<bool> run_over_services(const std::vector<StageRun>& stages, const std::string& product,
                               const std::string& folder, const ServiceChoice& choice,
                               const StageDone& done);

}  // namespace sluice
