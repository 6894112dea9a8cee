// Jobs that are ready and that no worker can run, so that people see them before they wonder.
#pragma once

#include <map>
#include <string>

#include "orchestrator/farm/farm_log.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/ready_queue.h"

namespace sluice {

class UnfitJobs {
 public:
  struct Group {  // of an owner
    size_t jobs = 0;
    std::string why;  // of the first of them
    FarmClock::time_point since{};
    bool is_reported = false;  // it has lasted a while
  };
  explicit UnfitJobs(const FarmLog& log) : log_(log) {}

  // Compares what is ready with the workers; to be called about each second.
  void look(const ReadyQueue& queue, const FarmWorkers& workers, FarmClock::time_point now);
  const std::map<std::string, Group>& by_owner() const { return by_owner_; }

 private:
  const FarmLog& log_;
  std::map<std::string, Group> by_owner_;
};

// Returns why no worker satisfies FarmJob::needs; an empty text when one does.
std::string why_unfit(const std::string& needs, const FarmWorkers& workers);

}  // namespace sluice
