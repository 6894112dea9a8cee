#include "orchestrator/process/slurm.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/base/shell_word.h"
#include "common/base/store.h"
#include "orchestrator/compile_all/provider.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr int kMaxSubmissions = 4;  // of one job: a task can be cancelled, or lose its machine
constexpr std::chrono::milliseconds kPause{200};
constexpr int kPausesPerQuestion = 10;  // the queue is asked less often than the store
constexpr int kQuietAnswers = 3;        // of the queue: the array is over
constexpr std::chrono::seconds kMaxCancel{30};

class SlurmRun {
 public:
  SlurmRun(const SlurmProvider& provider, Store& store, const std::vector<Digest>& keys,
           const JobEvents& events)
      : provider_(provider), store_(store), open_(keys), events_(events) {}

  Result<void> run() {
    for (int round = 0; round < kMaxSubmissions && !open_.empty() && !is_stopped(); ++round) {
      SLUICE_TRY(submit());
      Result<void> watched = watch();
      if (is_stopped() || !watched) cancel();
      SLUICE_TRY(std::move(watched));
    }
    // What is open now was lost too often.
    while (!open_.empty() && !is_stopped()) take_end(open_.front());
    return {};
  }

 private:
  bool is_stopped() const { return stopped_ || interrupted(); }

  // Writes the keys of each task to a file and submits an array of tasks.
  Result<void> submit() {
    folder_ = fmt::format("{}/batches/{}-{}", absolute_store(), ::getpid(), ++submissions_);
    SLUICE_TRY(make_directories(folder_));
    const size_t batch = static_cast<size_t>(provider_.batch);
    const size_t tasks = (open_.size() + batch - 1) / batch;
    for (size_t task = 0; task < tasks; ++task) {
      std::string lines;
      for (size_t i = task * batch; i < std::min(open_.size(), (task + 1) * batch); ++i)
        lines += digest_hex(open_[i]) + "\n";
      SLUICE_TRY(write_text(fmt::format("{}/{}", folder_, task), lines));
    }
    SLUICE_ASSIGN(const std::string program, find_program("sluice-job"));
    SLUICE_TRY(write_text(folder_ + "/task.sh",
                          fmt::format("#!/bin/sh\nexec {} --allow-passes --store={}{} "
                                      "--keys={}/\"$SLURM_ARRAY_TASK_ID\"\n",
                                      shell_word(program), shell_word(absolute_store()),
                                      remote_word(), shell_word(folder_))));
    SLUICE_ASSIGN(array_, submit_array({.name = "sluice",
                                        .script = folder_ + "/task.sh",
                                        .log = folder_ + "/%a.log",
                                        .first = 0,
                                        .last = tasks - 1,
                                        .is_requeued = true,
                                        .options = provider_.options}));
    for (const Digest& key : open_) events_.began(key);
    return {};
  }

  // Takes what ends until all have, or the queue has no task of the array any more.
  Result<void> watch() {
    for (int pauses = 1; !is_stopped() && !open_.empty(); ++pauses) {
      std::this_thread::sleep_for(kPause);
      bool is_over = false;
      if (pauses % kPausesPerQuestion == 0) {
        SLUICE_ASSIGN(is_over, is_array_over());
      }
      take_ends();
      if (is_over) return {};
    }
    return {};
  }

  Result<bool> is_array_over() {
    const auto tasks = tasks_of_array(array_);
    if (!tasks) {
      if (++unanswered_ > kMaxUnanswered) return tasks.error();
      return false;
    }
    unanswered_ = 0;
    return tasks->empty();
  }

  void take_ends() {
    const std::vector<Digest> open = open_;
    for (const Digest& key : open) {
      if (is_stopped()) return;
      if (has_ended(key)) take_end(key);
    }
  }

  // A failure is older than the submission when an earlier run left it.
  bool has_ended(const Digest& key) {
    if (std::filesystem::exists(record_path(store_.path(), key))) return true;
    struct stat failure{}, batch{};
    return ::stat(store_path(store_.path() + "/failures", key).c_str(), &failure) == 0 &&
           ::stat((folder_ + "/task.sh").c_str(), &batch) == 0 &&
           failure.st_mtim.tv_sec >= batch.st_mtim.tv_sec;
  }

  void take_end(const Digest& key) {
    std::erase(open_, Digest(key));
    if (!events_.ended(key)) stopped_ = true;
  }

  // A task that Slurm starts or requeues at this moment, after the loss of its machine for example,
  // can outlive a cancellation: the queue has the last word.
  void cancel() {
    if (array_.empty()) return;
    const auto end = std::chrono::steady_clock::now() + kMaxCancel;
    int without = 0;
    while (without < kQuietAnswers && std::chrono::steady_clock::now() < end) {
      static_cast<void>(cancel_tasks({array_}).ok());
      std::this_thread::sleep_for(kPause);
      const auto left = is_array_over();
      without = left && *left ? without + 1 : 0;
    }
    if (without < kQuietAnswers)
      events_.warned(fmt::format("Slurm has not cancelled all tasks of the array {}", array_));
  }

  std::string remote_word() const {
    const std::string& url = provider_.remote.base;
    return url.empty() ? "" : " " + shell_word("--remote=" + url);
  }

  std::string absolute_store() const {
    std::error_code failed;
    const std::filesystem::path path = std::filesystem::absolute(store_.path(), failed);
    return failed ? store_.path() : path.string();
  }

  static constexpr int kMaxUnanswered = 30;
  const SlurmProvider& provider_;
  Store& store_;
  std::vector<Digest> open_;
  const JobEvents& events_;
  std::string folder_, array_;
  int submissions_ = 0, unanswered_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<void> run_on_slurm(const SlurmProvider& provider, Store& store,
                          const std::vector<Digest>& keys, const JobEvents& events) {
  return SlurmRun(provider, store, keys, events).run();
}

}  // namespace sluice
