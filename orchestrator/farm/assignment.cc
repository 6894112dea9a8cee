#include "orchestrator/farm/assignment.h"

#include <algorithm>

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr size_t kMaxTogether = 16;  // jobs of one slot
constexpr seconds kMinLate{10};      // a job that runs shorter is no straggler
constexpr int kLate = 4;             // times as long as is usual
constexpr int kMemory = 16;          // jobs that the usual time is a mean of

}  // namespace

void Assignment::assign() {
  reserved_.clear();
  if (board_.ready() == 0) return;
  const size_t slots = std::max<size_t>(1, workers_.slots());
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
  const auto fits = [&](const std::string& needs) { return can_run(worker.beat, needs); };
  const size_t share = std::clamp<size_t>(board_.ready() / (2 * slots), 1, kMaxTogether);
  const auto count = [&](const std::string& kind) {
    return kind == "compile" ? size_t{1} : share;  // kernels take milliseconds
  };
  const std::vector<Digest> keys = board_.take(fits, count);
  if (keys.empty()) return false;
  give(worker, keys);
  return true;
}

// Of the busy workers that fit, the first gets nothing more until it is free.
void Assignment::assign_alone() {
  for (auto& [id, worker] : workers_.all()) {
    if (!worker.takes_jobs() || worker.is_alone) continue;
    const auto fits = [&](const std::string& needs) { return can_run(worker.beat, needs); };
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
  for (const Digest& key : late) {
    const FarmJob& job = *board_.find(key);
    for (auto& [id, worker] : workers_.all()) {
      if (!worker.takes_jobs() || !worker.leases.empty() || !can_run(worker.beat, job.needs))
        continue;
      ++copies_;
      log_.tell("job copied", {{"job", short_key(key)}, {"worker", worker.beat.name()}});
      give(worker, {key});
      break;
    }
  }
}

void Assignment::note_time(const std::string& kind, FarmClock::duration time) {
  FarmClock::duration& usual = usual_[kind];
  usual = usual.count() == 0 ? time : usual + (time - usual) / kMemory;
}

}  // namespace sluice
