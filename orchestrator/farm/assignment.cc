#include "orchestrator/farm/assignment.h"

#include <algorithm>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Jobs of one slot run together, in one process, for as long as makes its start cheap.
constexpr size_t kMaxTogether = 64, kUnknownTogether = 16;
constexpr milliseconds kMinRun{100}, kMaxRun{1500};
constexpr seconds kMinLate{10};  // a job that runs shorter is no straggler
constexpr int kLate = 4;         // times as long as is usual
constexpr int kMeanJobs = 16;    // jobs that the usual time is a mean of

void add_to_mean(FarmClock::duration& mean, FarmClock::duration time) {
  mean = mean.count() == 0 ? time : mean + (time - mean) / kMeanJobs;
}

}  // namespace

void Assignment::assign() {
  reserved_.clear();
  if (board_.ready() == 0) return;
  const size_t slots = std::max<size_t>(1, workers_.slots());
  largest_ = workers_.largest_memory();
  if (board_.has_alone()) assign_alone();
  // Each worker gets its share before any gets more than its slots.
  for (const size_t spare : {0, 1}) {
    if (spare > 0 && board_.ready() <= 2 * slots) return;
    for (bool has_given = true; has_given && board_.ready() > 0;) {
      has_given = false;
      for (auto& [id, worker] : workers_.all()) has_given |= assign_to(worker, slots, spare);
    }
  }
}

bool Assignment::assign_to(FarmWorker& worker, size_t slots, size_t spare) {
  if (!worker.takes_jobs() || worker.is_alone || worker.id == reserved_) return false;
  if (worker.groups() >= worker.beat.slots() + spare) return false;
  const auto fits = [&](const std::string& needs) { return this->fits(worker, needs); };
  const auto count = [&](const std::string& kind) { return share(kind, slots); };
  const std::vector<Digest> keys = board_.take(fits, count);
  if (keys.empty()) return false;
  give(worker, keys);
  return true;
}

bool Assignment::fits(const FarmWorker& worker, const std::string& needs) const {
  return can_run(worker.beat, needs, largest_);
}

// Returns how many jobs of a kind run together: half of a slot's share of what is ready, but no
// more and, at the end, no fewer than make a process worth its start.
size_t Assignment::share(const std::string& kind, size_t slots) const {
  if (kind == "compile") return 1;
  size_t min = 1, max = kUnknownTogether;
  const auto run = usual_run_.find(kind);
  if (run != usual_run_.end() && run->second.count() > 0) {
    const auto in = [&](FarmClock::duration time) {
      return std::clamp<size_t>(static_cast<size_t>(time / run->second), 1, kMaxTogether);
    };
    min = in(kMinRun);
    max = in(kMaxRun);
  }
  return std::clamp(board_.ready() / (2 * slots), min, max);
}

// Of the busy workers that fit, the first gets nothing more until it is free.
void Assignment::assign_alone() {
  for (auto& [id, worker] : workers_.all()) {
    if (!worker.takes_jobs() || worker.is_alone) continue;
    const auto fits = [&](const std::string& needs) { return this->fits(worker, needs); };
    const auto key = board_.find_alone(fits);
    if (!key) continue;
    if (worker.leases.empty()) {
      worker.is_alone = true;
      give(worker, {*key});
    } else if (reserved_.empty()) {
      reserved_ = id;
    }
  }
}

void Assignment::give(FarmWorker& worker, const std::vector<Digest>& keys) {
  const std::vector<uint64_t> leases = workers_.give(worker, keys);
  for (size_t i = 0; i < keys.size(); ++i) board_.begin(*board_.find(keys[i]), leases[i]);
  given_(worker, leases);
}

// A job that runs much longer than others of its kind, at a worker that may be slow or stuck,
// also goes to one that has nothing else to do; the first product counts.
void Assignment::copy_stragglers(FarmClock::time_point now) {
  if (board_.ready() > 0) return;
  std::vector<Digest> late;
  for (const auto& [number, id] : workers_.leases()) {
    const FarmLease& lease = workers_.get(id).leases.at(number);
    const FarmJob* job = board_.find(lease.key);
    if (job == nullptr || job->leases.size() != 1 || !lease.has_begun) continue;
    if (now - job->since > std::max<FarmClock::duration>(kMinLate, kLate * usual_[job->kind]))
      late.push_back(lease.key);
  }
  largest_ = workers_.largest_memory();
  for (const Digest& key : late) {
    const FarmJob& job = *board_.find(key);
    for (auto& [id, worker] : workers_.all()) {
      if (!worker.takes_jobs() || !worker.leases.empty() || !fits(worker, job.needs)) continue;
      ++copies_;
      log_.report("job copied", {{"job", short_key(key)}, {"worker", worker.beat.name()}});
      give(worker, {key});
      break;
    }
  }
}

void Assignment::note_time(const std::string& kind, FarmClock::duration time) {
  add_to_mean(usual_[kind], time);
}

void Assignment::note_run(const std::string& kind, FarmClock::duration time) {
  add_to_mean(usual_run_[kind], time);
}

}  // namespace sluice
