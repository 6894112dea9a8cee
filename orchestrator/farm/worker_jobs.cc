#include "orchestrator/farm/worker_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/base/store.h"
#include "orchestrator/process/process.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kReportPause{1000};
constexpr size_t kMaxText = 64u << 10;  // of what a job printed

}  // namespace

WorkerJobs::~WorkerJobs() {
  for (const Process& process : processes_) {
    kill_process(process.handle);
    wait_for(process.child);
  }
}

// ---- what the dispatcher says

void WorkerJobs::take(const pb::Assign& assign) {
  if (assign.leases().empty()) return;
  const uint64_t group = assign.leases(0).lease();
  for (const pb::Lease& lease : assign.leases())
    if (!leases_.contains(lease.lease())) add(lease.lease(), group, lease);
}

void WorkerJobs::add(uint64_t number, uint64_t group, const pb::Lease& message) {
  Lease& lease = leases_[number];
  lease.group = group;
  pb::FarmJob job;
  job.set_record(message.record());
  auto parsed = farm_job_of(job);
  if (!parsed)
    return fail(number, lease, static_cast<int>(ExitClass::kBadInput), parsed.error().message,
                false);
  lease.job = std::move(parsed).value();
  if (find_product(number, lease)) return;
  store_.keep_job(*parse_record(lease.job.record));
  want_inputs(lease);
}

void WorkerJobs::take(const pb::Revoke& revoke) {
  for (const uint64_t number : revoke.leases()) {
    const auto lease = leases_.find(number);
    if (lease == leases_.end()) continue;
    if (!lease->second.has_begun || lease->second.done) {
      leases_.erase(lease);
      continue;
    }
    for (const Process& process : processes_)
      if (process.leases == std::vector<uint64_t>{number}) kill_process(process.handle);
  }
}

void WorkerJobs::take(const pb::DoneTaken& taken) {
  for (const uint64_t number : taken.leases()) {
    const auto lease = leases_.find(number);
    if (lease != leases_.end() && lease->second.done) leases_.erase(lease);
  }
}

void WorkerJobs::drop_waiting() {
  std::erase_if(leases_,
                [](const auto& entry) { return !entry.second.has_begun && !entry.second.done; });
}

// ---- inputs

void WorkerJobs::want_inputs(Lease& lease) {
  for (const Digest& digest : lease.job.inputs) want_input(lease, digest);
  for (const Digest& list : lease.job.lists) {
    const auto file = artifacts_.has(list) ? store_.find_artifact(list) : std::nullopt;
    if (!file) {
      artifacts_.forget(list);
      want_input(lease, list);
      continue;
    }
    for (const Digest& digest : listed_digests(file->bytes())) want_input(lease, digest);
  }
}

void WorkerJobs::want_input(Lease& lease, const Digest& digest) {
  if (artifacts_.has(digest)) return;
  lease.job.missing.insert(digest);
  artifacts_.want(digest, {});
}

void WorkerJobs::take_arrival(const Artifacts::Arrival& arrival) {
  for (auto& [number, lease] : leases_) {
    if (lease.job.missing.erase(arrival.digest) == 0) continue;
    if (arrival.fault.empty()) {
      const bool is_list =
          std::ranges::find(lease.job.lists, arrival.digest) != lease.job.lists.end();
      if (is_list) want_inputs(lease);
    } else if (arrival.is_lie && ++lease.damaged < kMaxDamagedArrivals) {
      want_input(lease, arrival.digest);
    } else {
      fail(number, lease, static_cast<int>(ExitClass::kResource),
           fmt::format("sluice-worker: error: input sha256:{}: {}\n", digest_hex(arrival.digest),
                       arrival.fault),
           true);
      lease.done->set_lacks_input(arrival.is_absent || arrival.is_lie);
    }
  }
}

// ---- processes

bool WorkerJobs::find_product(uint64_t number, Lease& lease) {
  const auto record = store_.find(lease.job.key);
  if (!record) return false;
  const std::vector<Digest> artifacts = record->artifacts();
  const bool is_whole = !artifacts.empty() && std::ranges::all_of(artifacts, [&](const Digest& d) {
    return store_.find_artifact(d).has_value();
  });
  if (!is_whole) return false;
  pb::Done& done = lease.done.emplace();
  done.set_lease(number);
  done.mutable_end()->set_key(digest_field(lease.job.key));
  done.mutable_end()->set_record(record_text(*record));
  return true;
}

void WorkerJobs::fail(uint64_t number, Lease& lease, int code, const std::string& text,
                      bool is_transient) {
  may_be_full_ |= is_transient;
  pb::Done& done = lease.done.emplace();
  done.set_lease(number);
  done.set_is_transient(is_transient);
  done.mutable_end()->set_key(digest_field(lease.job.key));
  done.mutable_end()->set_exit_code(static_cast<uint32_t>(code));
  done.mutable_end()->set_error(text.substr(0, kMaxText));
}

bool WorkerJobs::turn() {
  bool has_changed = false;
  for (Process& process : processes_) {
    if (!has_ended(process.handle)) continue;
    end_process(process);
    has_changed = true;
  }
  std::erase_if(processes_, [](const Process& process) { return process.child == 0; });
  std::set<uint64_t> waiting;
  for (const auto& [number, lease] : leases_)
    if (!lease.has_begun && !lease.done) waiting.insert(lease.group);
  for (const uint64_t group : waiting) {
    if (processes_.size() >= slots_) break;
    has_changed |= start_group(group);
  }
  return has_changed;
}

// Starts the leases of a group when all have their inputs.
bool WorkerJobs::start_group(uint64_t group) {
  std::vector<std::string> command = command_;
  Process process;
  for (const auto& [number, lease] : leases_) {
    if (lease.group != group || lease.done) continue;
    if (!lease.job.missing.empty()) return false;
    process.leases.push_back(number);
    command.push_back(digest_hex(lease.job.key));
  }
  const auto started = [&]() -> Result<void> {
    SLUICE_ASSIGN(process.messages, make_memory_file());
    SLUICE_ASSIGN(process.child, start_process(command, {-1, -1, process.messages.get()}));
    SLUICE_ASSIGN(process.handle, process_handle(process.child));
    return {};
  }();
  for (const uint64_t number : process.leases) {
    Lease& lease = leases_.at(number);
    if (started) {
      lease.has_begun = true;
      log_.detail("job begun", {{"job", short_key(lease.job.key)}, {"kind", lease.job.kind}});
    } else {
      fail(number, lease, static_cast<int>(ExitClass::kResource), started.error().message, true);
    }
  }
  if (!started && process.child > 0) wait_for(process.child);
  if (started) processes_.push_back(std::move(process));
  return true;
}

void WorkerJobs::end_process(Process& process) {
  const Ending ending = process.ending = wait_for(process.child);
  process.child = 0;
  const auto share =
      std::chrono::duration_cast<std::chrono::microseconds>(FarmClock::now() - process.begun) /
      process.leases.size();
  const bool is_killed = ending.signal != 0 || !is_known_code(ending.code);
  if (is_killed) log_.warn("job killed", {{"how", ending_text(ending)}});
  for (const uint64_t number : process.leases) {
    const auto lease = leases_.find(number);
    if (lease == leases_.end()) continue;
    end_lease(number, lease->second, process, is_killed);
    lease->second.done->set_microseconds(static_cast<uint32_t>(
        std::min<int64_t>(share.count(), std::numeric_limits<uint32_t>::max())));
  }
}

// Returns whether an input was deleted while it was wanted: it was found damaged, or the store
// full.
bool WorkerJobs::has_lost_input(const Lease& lease) {
  bool is_lost = false;
  const auto check = [&](const Digest& digest) {
    if (::access(store_path(store_.path(), digest).c_str(), F_OK) == 0) return;
    artifacts_.forget(digest);
    is_lost = true;
  };
  for (const Digest& digest : lease.job.inputs) check(digest);
  for (const Digest& list : lease.job.lists) {
    check(list);
    if (const auto file = store_.find_artifact(list))
      for (const Digest& digest : listed_digests(file->bytes())) check(digest);
  }
  return is_lost;
}

void WorkerJobs::end_lease(uint64_t number, Lease& lease, const Process& process, bool is_killed) {
  if (find_product(number, lease)) {
    log_.detail("job done", {{"job", short_key(lease.job.key)}});
    return;
  }
  constexpr int kResource = static_cast<int>(ExitClass::kResource);
  const auto failure = is_killed ? std::nullopt : store_.find_failure(lease.job.key);
  std::string text = memory_file_text(process.messages);
  int code = kResource;
  if (failure) {
    if (const std::string* kept = failure->results.find("text")) text = *kept;
    if (const std::string* kept = failure->results.find("code")) code = std::atoi(kept->c_str());
  }
  if (has_lost_input(lease)) code = kResource;
  if (text.empty())
    text =
        fmt::format("sluice-worker: error: the job ended with {}\n", ending_text(process.ending));
  log_.report("job failed", {{"job", short_key(lease.job.key)}, {"why", text}});
  fail(number, lease, code, text, code == kResource);
  const std::string limit = fmt::format("SL{}: ", static_cast<int>(ErrorCode::kLimit));
  lease.done->set_lacks_memory(is_killed || text.find(limit) != std::string::npos);
}

// ---- what is said

void WorkerJobs::add_descriptors(std::vector<int>& descriptors) const {
  for (const Process& process : processes_) descriptors.push_back(process.handle.get());
}

std::vector<pb::Running> WorkerJobs::running() const {
  std::vector<pb::Running> running;
  for (const auto& [number, lease] : leases_) {
    pb::Running& one = running.emplace_back();
    one.set_lease(number);
    one.set_key(digest_field(lease.job.key));
    one.set_has_begun(lease.has_begun && !lease.done);
    one.set_is_done(lease.done.has_value());
  }
  return running;
}

std::vector<pb::Done> WorkerJobs::reports(FarmClock::time_point now) {
  std::vector<pb::Done> reports;
  for (auto& [number, lease] : leases_) {
    if (!lease.done || now - lease.reported < kReportPause) continue;
    lease.reported = now;
    reports.push_back(*lease.done);
  }
  return reports;
}

}  // namespace sluice
