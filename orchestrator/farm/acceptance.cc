#include "orchestrator/farm/acceptance.h"

#include <algorithm>

#include "common/base/store.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {

Acceptance::~Acceptance() {
  for (const Process& process : processes_) {
    kill_process(process.handle);
    wait_for(process.child);
  }
}

void Acceptance::begin(const FarmJob& job, const std::string& worker, const std::string& peer,
                       const pb::JobEnd& end) {
  Candidate& candidate = candidates_[job.key];
  candidate = {.worker = worker, .end = end, .missing = {}, .model = {}};
  const auto record = parse_record(end.record());
  if (!record || record->key() != job.key)
    return decide(job.key, "its record is not that of the job", true);
  const std::vector<Digest> artifacts = record->artifacts();
  if (artifacts.empty()) return decide(job.key, "its record names no product", true);
  if (job.kind == "compile") candidate.model = record->results.find_digest("output");
  for (const Digest& artifact : artifacts) {
    if (artifacts_.has(artifact)) continue;
    candidate.missing.insert(artifact);
    missing_[artifact].insert(job.key);
    artifacts_.want(artifact, peer);
  }
  if (candidate.missing.empty()) check(job.key);
}

void Acceptance::take_arrival(const Artifacts::Arrival& arrival) {
  const auto entry = missing_.find(arrival.digest);
  if (entry == missing_.end()) return;
  const std::set<Digest> keys = std::move(entry->second);
  missing_.erase(entry);
  for (const Digest& key : keys) {
    const auto candidate = candidates_.find(key);
    if (candidate == candidates_.end()) continue;
    candidate->second.missing.erase(arrival.digest);
    if (!arrival.fault.empty()) {
      decide(key, arrival.fault, arrival.is_lie || arrival.is_absent, arrival.is_silent);
    } else if (candidate->second.missing.empty()) {
      check(key);
    }
  }
}

void Acceptance::check(const Digest& key) {
  if (!candidates_.at(key).model) return decide(key, {}, false);
  waiting_.push_back(key);
}

bool Acceptance::start(const Digest& key) {
  const Digest& model = *candidates_.at(key).model;
  const auto program = find_program("sluice-verify");
  if (!program) return decide(key, program.error().message, false), false;
  const auto child = start_process({*program, "-q", store_path(store_.path(), model)}, {});
  if (!child) return decide(key, child.error().message, false), false;
  auto handle = process_handle(*child);
  if (!handle) {
    wait_for(*child);
    return decide(key, handle.error().message, false), false;
  }
  processes_.push_back({key, *child, std::move(handle).value()});
  return true;
}

void Acceptance::add_descriptors(std::vector<int>& descriptors) const {
  for (const Process& process : processes_) descriptors.push_back(process.handle.get());
}

void Acceptance::turn() {
  for (Process& process : processes_) {
    if (!has_ended(process.handle)) continue;
    const Ending ending = wait_for(process.child);
    process.child = 0;
    const bool is_bad = ending.signal == 0 && is_known_code(ending.code) && ending.code != 5;
    decide(process.key,
           ending.clean() ? std::string() : "sluice-verify ended with " + ending_text(ending),
           !ending.clean() && is_bad);
  }
  std::erase_if(processes_, [](const Process& process) { return process.child == 0; });
  while (processes_.size() < at_once_ && !waiting_.empty()) {
    const Digest key = waiting_.front();
    waiting_.pop_front();
    if (candidates_.contains(key)) start(key);
  }
}

void Acceptance::decide(const Digest& key, const std::string& fault, bool is_lie, bool is_silent) {
  const auto candidate = candidates_.find(key);
  if (candidate == candidates_.end()) return;
  outcomes_.push_back(
      {key, candidate->second.worker, std::move(candidate->second.end), fault, is_lie, is_silent});
  candidates_.erase(candidate);
}

}  // namespace sluice
