#include "orchestrator/farm/slurm_workers.h"

#include <algorithm>
#include <chrono>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/shell_word.h"
#include "orchestrator/process/slurm.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kPause{2}, kPauseAfterFault{15};
constexpr int kMaxDoublings = 5;  // of the pause, when workers end at once

// Distinguishes the workers of this dispatcher, also those of an earlier start, from others.
std::string array_name(const std::string& folder) {
  return "sluice-worker-" + digest_hex(sha256(folder)).substr(0, 8);
}

}  // namespace

SlurmWorkers::SlurmWorkers(const SlurmWorkersRequest& request, const FarmLog& log)
    : request_(request), log_(log), name_(array_name(request.folder)) {
  thread_ = std::thread([this] { run(); });
}

SlurmWorkers::~SlurmWorkers() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

void SlurmWorkers::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    lock.unlock();
    const Result<void> done = turn();
    lock.lock();
    const std::string fault = done ? std::string() : done.error().message;
    if (!fault.empty() && fault != last_fault_)
      log_.warn("slurm", {{"why", fault}, {"hint", done.error().hint}});
    last_fault_ = fault;
    const auto pause = done ? kPause * (1 << std::min(vain_, kMaxDoublings)) : kPauseAfterFault;
    stopping_.wait_for(lock, pause, [this] { return is_stopped_; });
  }
}

Result<void> SlurmWorkers::turn() {
  SLUICE_ASSIGN(const Queue queue, look());
  const size_t wanted = std::clamp(wanted_.load(), request_.min, request_.max);
  const size_t have = queue.running + queue.pending.size();
  if (come_ != come_before_) vain_ = 0;
  if (wanted > have) {
    if (have == 0 && ++vain_ > 1)
      log_.warn("workers end before they come", {{"logs", request_.folder + "/slurm"}});
    come_before_ = come_;
    return submit(wanted - have);
  }
  return cancel(queue.pending, have - wanted);
}

Result<SlurmWorkers::Queue> SlurmWorkers::look() const {
  SLUICE_ASSIGN(const std::vector<SlurmTask> tasks, tasks_by_name(name_));
  Queue queue;
  for (const SlurmTask& task : tasks) {
    if (task.state == "PENDING") {
      queue.pending.push_back(task.id);
    } else if (task.state != "COMPLETING") {
      ++queue.running;
    }
  }
  return queue;
}

Result<void> SlurmWorkers::submit(size_t count) {
  const std::string folder = request_.folder + "/slurm";
  SLUICE_TRY(make_directories(folder));
  std::string words;
  for (const std::string& word : request_.command) words += " " + shell_word(word);
  SLUICE_TRY(write_text(folder + "/worker.sh", fmt::format("#!/bin/sh\nexec{} --connect={}\n",
                                                           words, shell_word(request_.endpoint))));
  SLUICE_ASSIGN(const std::string array, submit_array({.name = name_,
                                                       .script = folder + "/worker.sh",
                                                       .log = folder + "/%A-%a.log",
                                                       .first = 1,
                                                       .last = count,
                                                       .options = request_.sbatch}));
  log_.report("workers submitted", {{"count", fmt::format("{}", count)}, {"array", array}});
  return {};
}

// Those that have not begun; the others end when they have no work.
Result<void> SlurmWorkers::cancel(const std::vector<std::string>& tasks, size_t count) const {
  if (tasks.empty() || count == 0) return {};
  const size_t first = tasks.size() - std::min(count, tasks.size());
  return cancel_tasks({tasks.begin() + static_cast<ptrdiff_t>(first), tasks.end()});
}

}  // namespace sluice
