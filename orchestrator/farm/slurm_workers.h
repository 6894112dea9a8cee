// Workers that Slurm runs for a dispatcher, as tasks of job arrays: as many as the jobs need, and
// no more than a limit. This is the pilot-job pattern: Slurm places, kills and accounts workers,
// and has no data about the jobs. A worker that was cancelled, preempted, or lost with its node is
// replaced while there is work; one without work ends by itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/farm/farm_log.h"

namespace sluice {

struct SlurmWorkersRequest {
  size_t min = 0, max = 1;
  std::string endpoint;              // by which workers reach the dispatcher
  std::string folder;                // for scripts and what workers print
  std::vector<std::string> sbatch;   // more words for sbatch
  std::vector<std::string> command;  // sluice worker with its options
};

class SlurmWorkers {
 public:
  SlurmWorkers(const SlurmWorkersRequest& request, const FarmLog& log);
  ~SlurmWorkers();
  SlurmWorkers(const SlurmWorkers&) = delete;
  SlurmWorkers& operator=(const SlurmWorkers&) = delete;

  // Says how many workers the jobs of now could use, and how many have come so far.
  void set_wanted(size_t workers, uint64_t come) {
    wanted_ = workers;
    come_ = come;
  }

 private:
  struct Queue {
    std::vector<std::string> pending;
    size_t running = 0;
  };
  void run();
  Result<void> turn();
  Result<Queue> look() const;
  Result<void> submit(size_t count);
  Result<void> cancel(const std::vector<std::string>& tasks, size_t count) const;

  const SlurmWorkersRequest& request_;
  const FarmLog& log_;
  const std::string name_;  // of the arrays
  std::atomic<size_t> wanted_ = 0;
  std::atomic<uint64_t> come_ = 0;
  uint64_t come_before_ = 0;  // when some were submitted last
  int vain_ = 0;              // submissions in a row of which no worker came
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopped_ = false;
  std::string last_fault_;
  std::thread thread_;
};

}  // namespace sluice
