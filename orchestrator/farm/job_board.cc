#include "orchestrator/farm/job_board.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/files.h"
#include "common/base/store.h"

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr seconds kSilentClient{600};  // then it does not come back
constexpr seconds kAskingPause{1};
constexpr seconds kMaxDelay{30};

ReadyQueue::Place place_of(const FarmJob& job, const std::string& owner) {
  return {.priority = job.priority, .owner = owner, .needs = job.needs, .kind = job.kind};
}

}  // namespace

pb::JobEnd failed_end(const Digest& key, ExitClass code, const std::string& text) {
  pb::JobEnd end;
  end.set_key(digest_field(key));
  end.set_exit_code(static_cast<uint32_t>(code));
  end.set_error(text);
  return end;
}

Result<void> JobBoard::load() {
  look_for_records();
  SLUICE_ASSIGN(FarmState::Content content, state_.load());
  for (StoredClient& stored : content.clients) {
    FarmClient& client = clients_[stored.id];
    client.id = stored.id;
    client.owner = stored.owner;
    client.ended = stored.ended;
    client.last_heard = now_();
  }
  for (FarmJob& job : content.jobs) jobs_.emplace(job.key, std::move(job));
  for (const StoredRequest& request : content.requests) {
    const auto client = clients_.find(request.client);
    if (client == clients_.end()) continue;
    const bool is_open = request.number == 0;
    if (!is_open) client->second.unseen.push_back(request.key);
    FarmJob* job = find(request.key);
    if (job == nullptr || (!is_open && !job->end)) {
      anew_.insert(request.key);
      continue;
    }
    job->clients.insert(request.client);
    if (is_open) client->second.open.insert(request.key);
  }
  for (auto& [key, job] : jobs_)
    if (!job.end) SLUICE_TRY(want_inputs(job));
  return {};
}

// ---- clients

FarmClient& JobBoard::client(const std::string& id, const std::string& owner,
                             const std::string& peer) {
  FarmClient& client = clients_[id];
  if (client.id.empty()) {
    client.id = id;
    changed_clients_.insert(id);
  }
  if (client.owner.empty()) client.owner = owner;
  if (client.peer != peer) client.sent = client.seen();  // what was sent there may be lost
  client.peer = peer;
  client.last_heard = now_();
  return client;
}

FarmClient* JobBoard::find_client(const std::string& id) {
  const auto client = clients_.find(id);
  return client == clients_.end() ? nullptr : &client->second;
}

Result<void> JobBoard::submit(FarmClient& client, FarmJob job) {
  const Digest key = job.key;
  if (is_late(client, key)) return {};
  const auto known = jobs_.find(key);
  if (known == jobs_.end()) {
    ++counts_.submitted;
    SLUICE_TRY(add(client, std::move(job)));
    return {};
  }
  FarmJob& there = known->second;
  if (there.clients.contains(client.id)) return {};
  if (has_lost_product(there)) {
    // Clients to which its end was not reported get none, and return.
    anew_.insert(key);
    jobs_.erase(known);
    return add(client, std::move(job));
  }
  there.clients.insert(client.id);
  if (there.end) return note_end(client.id, key);
  client.open.insert(key);
  if (there.priority < job.priority) {
    there.priority = job.priority;
    SLUICE_TRY(state_.put_job(there));
    // Its place in the queue of the lower one is passed over, since it is not ready by then.
    if (there.state == FarmJob::State::kReady) make_ready(there);
  }
  return state_.put_request({client.id, key, 0});
}

Result<void> JobBoard::add(FarmClient& client, FarmJob job) {
  const Digest key = job.key;
  FarmJob& added = jobs_.emplace(key, std::move(job)).first->second;
  added.clients.insert(client.id);
  client.open.insert(key);
  SLUICE_ASSIGN(const auto product, find_product(key));
  if (product) {
    ++counts_.found;
    pb::JobEnd end;
    end.set_key(digest_field(key));
    end.set_record(record_text(*product));
    return this->end(added, std::move(end));
  }
  SLUICE_TRY(state_.put_job(added));
  SLUICE_TRY(state_.put_request({client.id, key, 0}));
  return want_inputs(added);
}

Result<std::optional<Record>> JobBoard::find_product(const Digest& key) {
  SLUICE_ASSIGN(const std::string kept, state_.find_product(key));
  std::optional<Record> record;
  if (!kept.empty()) record = parse_record(kept);
  if (!record && has_records_) record = store_.find(key);
  if (record && !has_product(*record)) record.reset();
  return record;
}

// Returns whether a client that submits a job has done so before, for an end that is gone and was
// not reported to it: the client returns as another one when it is.
bool JobBoard::is_late(const FarmClient& client, const Digest& key) const {
  return anew_.contains(key) && std::ranges::find(client.unseen, key) != client.unseen.end();
}

bool JobBoard::has_product(const Record& record) {
  return std::ranges::all_of(record.artifacts(),
                             [&](const Digest& artifact) { return artifacts_.has(artifact); });
}

bool JobBoard::has_lost_product(const FarmJob& job) {
  if (!job.end || job.end->exit_code() != 0) return false;
  const auto record = parse_record(job.end->record());
  return !record || !has_product(*record);
}

Result<void> JobBoard::take_seen(FarmClient& client, uint64_t seen) {
  while (!client.unseen.empty() && client.seen() < seen) {
    const Digest key = client.unseen.front();
    client.unseen.pop_front();
    SLUICE_TRY(state_.remove_request(client.id, key));
    if (FarmJob* job = find(key)) job->clients.erase(client.id);
    SLUICE_TRY(forget_if_unwanted(key));
  }
  return {};
}

Result<void> JobBoard::remove_client(const std::string& id) {
  FarmClient* client = find_client(id);
  if (client == nullptr) return {};
  SLUICE_TRY(state_.remove_client(id));
  changed_clients_.erase(id);
  std::vector<Digest> keys(client->open.begin(), client->open.end());
  keys.insert(keys.end(), client->unseen.begin(), client->unseen.end());
  clients_.erase(id);
  for (const Digest& key : keys) {
    if (FarmJob* job = find(key)) job->clients.erase(id);
    SLUICE_TRY(forget_if_unwanted(key));
  }
  return {};
}

Result<void> JobBoard::forget_if_unwanted(const Digest& key) {
  const FarmJob* job = find(key);
  if (job == nullptr || !job->clients.empty() || job->state == FarmJob::State::kQuarantined)
    return {};
  const bool is_held =
      job->state == FarmJob::State::kRunning || job->state == FarmJob::State::kAccepting;
  if (is_held) return {};  // what was begun is ended, for the store
  jobs_.erase(key);
  return state_.remove_job(key);
}

// ---- inputs

std::string JobBoard::peer_of(const FarmJob& job) const {
  for (const std::string& id : job.clients) {
    const auto client = clients_.find(id);
    if (client != clients_.end() && !client->second.peer.empty()) return client->second.peer;
  }
  return {};
}

Result<void> JobBoard::want_inputs(FarmJob& job) {
  job.state = FarmJob::State::kWaiting;
  job.missing.clear();
  for (const Digest& digest : job.inputs) SLUICE_TRY(want_input(job, digest));
  for (const Digest& list : job.lists) SLUICE_TRY(want_list(job, list));
  if (job.missing.empty()) make_ready(job);
  return {};
}

Result<void> JobBoard::want_list(FarmJob& job, const Digest& list) {
  if (!artifacts_.has(list)) return want_input(job, list);
  const auto file = store_.find_artifact(list);
  if (!file) {
    artifacts_.forget(list);
    return want_input(job, list);
  }
  for (const Digest& digest : listed_digests(file->bytes())) SLUICE_TRY(want_input(job, digest));
  return {};
}

Result<void> JobBoard::want_input(FarmJob& job, const Digest& digest) {
  if (artifacts_.has(digest)) return {};
  missing_[digest].insert(job.key);
  job.missing.insert(digest);
  const std::string peer = peer_of(job);
  if (peer.empty()) {
    lost_inputs_.insert(digest);
  } else {
    artifacts_.want(digest, peer);
  }
  return {};
}

Result<void> JobBoard::take_arrival(const Artifacts::Arrival& arrival) {
  const auto entry = missing_.find(arrival.digest);
  if (entry == missing_.end()) return {};
  if (!arrival.fault.empty() && !arrival.is_absent) {
    if (arrival.fault != last_fault_)
      log_.warn("input not received",
                {{"artifact", digest_hex(arrival.digest)}, {"why", arrival.fault}});
    last_fault_ = arrival.fault;
    lost_inputs_.insert(arrival.digest);
    return {};
  }
  const std::set<Digest> waiting = std::move(entry->second);
  missing_.erase(entry);
  for (const Digest& key : waiting) {
    FarmJob* job = find(key);
    if (job == nullptr || job->missing.erase(arrival.digest) == 0) continue;
    if (arrival.is_absent) {
      SLUICE_TRY(end(*job, failed_end(key, ExitClass::kResource,
                                      fmt::format("sluice-farm: error: job {} was submitted "
                                                  "without its input sha256:{}\n",
                                                  short_key(key), digest_hex(arrival.digest)))));
      continue;
    }
    const bool is_list = std::ranges::find(job->lists, arrival.digest) != job->lists.end();
    if (is_list) SLUICE_TRY(want_list(*job, arrival.digest));
    if (job->missing.empty()) make_ready(*job);
  }
  return {};
}

// ---- from ready to the end

FarmJob* JobBoard::find(const Digest& key) {
  const auto job = jobs_.find(key);
  return job == jobs_.end() ? nullptr : &job->second;
}

void JobBoard::make_ready(FarmJob& job) {
  job.state = FarmJob::State::kReady;
  job.since = now_();
  if (job.losses >= kMaxLosses) return alone_.push_back(job.key);
  const FarmClient* client = job.clients.empty() ? nullptr : find_client(*job.clients.begin());
  ready_.put(job.key, place_of(job, client == nullptr ? std::string() : client->owner));
}

std::vector<Digest> JobBoard::take(const std::function<bool(const std::string& needs)>& fits,
                                   const std::function<size_t(const std::string& kind)>& count) {
  while (true) {
    std::vector<Digest> keys = ready_.take(fits, count);
    if (keys.empty()) return keys;
    // What was dropped meanwhile, or is held by a worker that came back, is still in the queue.
    std::erase_if(keys, [&](const Digest& key) {
      const FarmJob* job = find(key);
      return job == nullptr || job->state != FarmJob::State::kReady;
    });
    if (!keys.empty()) return keys;
  }
}

std::optional<Digest> JobBoard::find_alone(
    const std::function<bool(const std::string& needs)>& fits) {
  std::erase_if(alone_, [&](const Digest& key) {
    const FarmJob* job = find(key);
    return job == nullptr || job->state != FarmJob::State::kReady;
  });
  const auto key =
      std::ranges::find_if(alone_, [&](const Digest& one) { return fits(find(one)->needs); });
  return key == alone_.end() ? std::nullopt : std::optional(*key);
}

void JobBoard::begin(FarmJob& job, uint64_t lease) {
  if (job.state != FarmJob::State::kAccepting) job.state = FarmJob::State::kRunning;
  if (job.leases.empty()) job.since = now_();
  job.leases.insert(lease);
}

void JobBoard::put_back(FarmJob& job) {
  job.state = FarmJob::State::kWaiting;
  delayed_.emplace(now_() + kAskingPause, job.key);
}

Result<void> JobBoard::lose(FarmJob& job, uint64_t lease, Blame blame) {
  job.leases.erase(lease);
  if (job.end || job.state == FarmJob::State::kAccepting || !job.leases.empty()) return {};
  ++counts_.retried;
  if (blame != Blame::kNone) {
    ++(blame == Blame::kAlone     ? job.losses_alone
       : blame == Blame::kExcused ? job.losses_excused
                                  : job.losses);
    SLUICE_TRY(state_.put_job(job));
  }
  if (job.losses_alone >= kMaxLossesAlone || job.losses_excused >= kMaxLossesExcused)
    return quarantine(job);
  if (job.clients.empty()) {
    job.state = FarmJob::State::kReady;
    return forget_if_unwanted(job.key);
  }
  return make_ready(job), Result<void>();
}

Result<void> JobBoard::retry(FarmJob& job, const pb::JobEnd& end) {
  if (++job.failures >= kMaxFailures) return this->end(job, end);
  ++counts_.retried;
  SLUICE_TRY(state_.put_job(job));
  job.state = FarmJob::State::kWaiting;
  const seconds delay = std::min(kMaxDelay, seconds(1 << (job.failures - 1)));
  delayed_.emplace(now_() + delay, job.key);
  return {};
}

Result<void> JobBoard::end(FarmJob& job, pb::JobEnd end) {
  ++counts_.ended;
  if (end.exit_code() != 0) ++counts_.failed;
  if (job.state != FarmJob::State::kQuarantined) job.state = FarmJob::State::kEnded;
  end.set_key(digest_field(job.key));
  job.end = std::move(end);
  job.leases.clear();
  SLUICE_TRY(state_.put_job(job));
  const Digest key = job.key;
  const std::set<std::string> clients = job.clients;
  for (const std::string& client : clients) SLUICE_TRY(note_end(client, key));
  return forget_if_unwanted(key);
}

Result<void> JobBoard::note_end(const std::string& id, const Digest& key) {
  FarmClient* client = find_client(id);
  if (client == nullptr) return {};
  client->open.erase(key);
  client->unseen.push_back(key);
  ++client->ended;
  changed_clients_.insert(id);
  return state_.put_request({id, key, client->ended});
}

Result<void> JobBoard::quarantine(FarmJob& job) {
  ++counts_.quarantined;
  keep_inputs(job);
  job.state = FarmJob::State::kQuarantined;
  log_.warn("job quarantined", {{"job", digest_hex(job.key)}, {"inputs", quarantine_}});
  return end(job, failed_end(job.key, ExitClass::kResource,
                             fmt::format("sluice-farm: error: job {} is quarantined: {} workers "
                                         "were lost while they ran nothing else\nhint: sluice "
                                         "farm replay runs it at the dispatcher's machine\n",
                                         digest_hex(job.key), kMaxLossesAlone)));
}

// The folder is a store by itself, so `sluice job` can run what is in it.
void JobBoard::keep_inputs(const FarmJob& job) {
  Store kept(quarantine_);
  if (const auto record = parse_record(job.record)) kept.keep_job(*record);
  std::vector<Digest> inputs = job.inputs;
  for (const Digest& list : job.lists) {
    inputs.push_back(list);
    const auto file = store_.find_artifact(list);
    if (!file) continue;
    const auto listed = listed_digests(file->bytes());
    inputs.insert(inputs.end(), listed.begin(), listed.end());
  }
  for (const Digest& digest : inputs) kept.keep_file(store_path(store_.path(), digest));
  if (const auto fault = kept.fault()) log_.warn("quarantine incomplete", {{"why", *fault}});
}

Result<void> JobBoard::release(const Digest& key) {
  const FarmJob* job = find(key);
  if (job == nullptr || job->state != FarmJob::State::kQuarantined)
    return make_error(ErrorCode::kNotFound, "no job {} is quarantined", digest_hex(key));
  // A client to which its end was not reported yet gets none, and returns.
  anew_.insert(key);
  jobs_.erase(key);
  return state_.remove_job(key);
}

// ---- time

void JobBoard::look_for_records() {
  has_records_ = ::access((store_.path() + "/records").c_str(), F_OK) == 0;
}

Result<void> JobBoard::turn(FarmClock::time_point now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    FarmJob* job = find(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    if (job != nullptr && job->state == FarmJob::State::kWaiting) SLUICE_TRY(want_inputs(*job));
  }
  if (now < next_asking_) return {};
  next_asking_ = now + kAskingPause;
  look_for_records();
  const std::set<Digest> lost = std::exchange(lost_inputs_, {});
  for (const Digest& digest : lost) {
    const auto waiting = missing_.find(digest);
    if (waiting == missing_.end()) continue;
    std::erase_if(waiting->second, [&](const Digest& key) { return find(key) == nullptr; });
    if (waiting->second.empty()) {
      missing_.erase(waiting);
    } else {
      SLUICE_TRY(want_input(*find(*waiting->second.begin()), digest));
    }
  }
  if (std::ranges::all_of(clients_, [](const auto& entry) { return entry.second.unseen.empty(); }))
    anew_.clear();
  std::vector<std::string> silent;
  for (const auto& [id, client] : clients_)
    if (now - client.last_heard > kSilentClient) silent.push_back(id);
  for (const std::string& id : silent) SLUICE_TRY(remove_client(id));
  return {};
}

Result<void> JobBoard::commit_clients_and_state() {
  for (const std::string& id : changed_clients_) {
    const FarmClient* client = find_client(id);
    if (client != nullptr) SLUICE_TRY(state_.put_client({id, client->owner, client->ended}));
  }
  changed_clients_.clear();
  return state_.commit();
}

}  // namespace sluice
