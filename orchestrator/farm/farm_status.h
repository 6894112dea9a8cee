// What people see of a dispatcher: a status, as JSON or a table, and metrics.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/job_board.h"
#include "orchestrator/farm/unfit_jobs.h"

namespace sluice {

struct FarmStatus {
  const JobBoard& board;
  const std::map<std::string, FarmWorker>& workers;
  const std::map<std::string, UnfitJobs::Group>& unfit;
  uint64_t lost_workers = 0;
  uint64_t copies = 0;  // of stragglers
  uint64_t dropped_messages = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t peer_bytes = 0;  // from worker to worker
  bool is_draining = false;
};

// One JSON object; docs/farm.md lists its members.
std::string status_json(const FarmStatus& status);
// The text format 0.0.4 of Prometheus.
std::string metrics_text(const FarmStatus& status);
// Returns the table for people of what status_json returned. Errors: kBadReply.
Result<std::string> status_table(const std::string& json);

}  // namespace sluice
