// --transport zmq: stages run at workers that listen, sluice-worker --listen. One is started here,
// for this compile alone, and runs all stages for which no other one is named.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/wire/channel.h"
#include "common/wire/security.h"
#include "orchestrator/compile/in_order.h"

namespace sluice {

struct WorkerChoice {
  std::map<std::string, std::string> endpoints;  // of workers that run already, by stage
  ConnectorKeys keys;                            // for those
  std::string store;               // which those have, too, unless they name files; empty: none
  std::string folder;              // of this compile alone
  std::optional<Sandbox> sandbox;  // of stages at the worker that is started here
};

class WorkerStages {
 public:
  explicit WorkerStages(const WorkerChoice& choice);
  ~WorkerStages();  // ends the worker
  // Starts the worker, unless all stages run elsewhere. Errors: kIo, kProgramMissing.
  Result<void> start(const std::vector<StageRun>& stages);
  // Is StartStage. Further errors: kPeerLost, kBadReply, kKeyRefused.
  Result<StageReport> run(const StageRun& stage, const StageFiles& files);

 private:
  class OwnWorker;
  Result<Channel*> channel_to(const std::string& endpoint, const ConnectorKeys& keys);

  const WorkerChoice& choice_;
  std::unique_ptr<OwnWorker> own_;
  std::map<std::string, Channel> channels_;  // by endpoint
};

}  // namespace sluice
