// Which worker gets which job.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/farm/farm_log.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/job_board.h"

namespace sluice {

class Assignment {
 public:
  // given: sends a worker what it has been given.
  using Given = std::function<void(FarmWorker& worker, const std::vector<uint64_t>& leases)>;
  Assignment(JobBoard& board, FarmWorkers& workers, const FarmLog& log, Given given)
      : board_(board), workers_(workers), log_(log), given_(std::move(given)) {}

  // Gives ready jobs to workers that have slots for them.
  void assign();
  // A job that runs much longer than others of its kind, at a worker that may be slow or stuck,
  // also goes to one that has nothing else to do; the first product counts.
  void copy_stragglers(FarmClock::time_point now);
  // Says how long a job of a kind took from its assignment to its end.
  void note_time(const std::string& kind, FarmClock::duration time);
  // Says how long one ran at a worker.
  void note_run(const std::string& kind, FarmClock::duration time);
  uint64_t copies() const { return copies_; }

 private:
  bool assign_to(FarmWorker& worker, size_t slots, size_t spare);
  void assign_alone();
  bool fits(const FarmWorker& worker, const std::string& needs) const;
  size_t share(const std::string& kind, size_t slots) const;
  void give(FarmWorker& worker, const std::vector<Digest>& keys);

  JobBoard& board_;
  FarmWorkers& workers_;
  const FarmLog& log_;
  const Given given_;
  std::map<std::string, FarmClock::duration> usual_;      // time of a job, by kind
  std::map<std::string, FarmClock::duration> usual_run_;  // the part that it ran
  uint64_t largest_ = 0;                                  // bytes of memory of the largest worker
  std::string reserved_;  // a worker that is to become free for a job that runs alone
  uint64_t copies_ = 0;
};

}  // namespace sluice
