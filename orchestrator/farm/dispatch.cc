#include "orchestrator/farm/dispatch.h"

#include <algorithm>

#include "common/graphfile/header.h"
#include "common/wire/failure.h"
#include "orchestrator/farm/farm_status.h"
#include "orchestrator/farm/free_space.h"
#include "orchestrator/farm/roles.h"
#include "orchestrator/store/collect.h"

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kAssignPatience{1500};  // until a worker has said that it has a lease
constexpr int kEpochBits = 40;                 // leases of one start
constexpr seconds kServed{3};                  // a client that asks for nothing so long has all
constexpr seconds kSpacePause{2};              // between two deletions in a full store

}  // namespace

Dispatch::Dispatch(const DispatchOptions& options, FarmState state, const FarmLog& log,
                   DispatchSeams seams)
    : log_(log),
      seams_(std::move(seams)),
      store_(options.store),
      artifacts_(
          store_,
          [this](const std::string& peer, pb::Get get) {
            pb::FarmMessage message;
            *message.mutable_get() = std::move(get);
            return seams_.send(peer, message, {});
          },
          seams_.now),
      acceptance_(store_, artifacts_, options.verifying),
      board_(store_, artifacts_, std::move(state), options.state + "/quarantine", log_, seams_.now),
      assignment_(board_, workers_, log_,
                  [this](FarmWorker& worker, const std::vector<uint64_t>& leases) {
                    send_assign(worker, leases);
                  }),
      holders_(store_, workers_,
               [this](const std::string& peer, const pb::FarmMessage& message) {
                 seams_.send(peer, message, {});
               }),
      unfit_(log_),
      clients_(board_, unfit_, options.max_jobs,
               [this](const std::string& peer, const pb::FarmMessage& message) {
                 return seams_.send(peer, message, {});
               }),
      next_collection_(seams_.now()) {}

Result<void> Dispatch::begin() {
  SLUICE_ASSIGN(const int64_t epoch, board_.state().next_epoch());
  workers_.begin((static_cast<uint64_t>(epoch) << kEpochBits) + 1);
  SLUICE_TRY(board_.load());
  return board_.commit();
}

Result<void> Dispatch::turn() {
  const auto now = seams_.now();
  artifacts_.turn(now);
  acceptance_.turn();
  for (const Artifacts::Arrival& arrival : artifacts_.take_arrivals()) {
    if (arrival.is_lie) count_lie(arrival.peer);
    if (arrival.is_unkept) free_space_now(now);
    SLUICE_TRY(board_.take_arrival(arrival));
    acceptance_.take_arrival(arrival);
  }
  for (const Acceptance::Outcome& outcome : acceptance_.take_outcomes())
    SLUICE_TRY(take_outcome(outcome));
  if (now >= next_tick_) SLUICE_TRY(tick(now));
  if (!is_draining_) assignment_.assign();
  SLUICE_TRY(board_.commit());
  report_after_commit();
  is_over_ = is_draining_ && workers_.leases().empty() && clients_.have_all_ends(now) &&
             now - last_get_ > kServed;
  return {};
}

void Dispatch::free_space_now(FarmClock::time_point now) {
  if (now < next_freeing_) return;
  next_freeing_ = now + kSpacePause;
  if (free_space(store_.path(), log_)) artifacts_.forget_all();
}

Result<void> Dispatch::tick(FarmClock::time_point now) {
  next_tick_ = now + kDispatcherTick;
  SLUICE_TRY(board_.turn(now));
  std::vector<std::string> lost;
  for (const auto& [id, worker] : workers_.all()) {
    const auto patience =
        worker.is_reachable ? kFarmHeartbeat * kMissedHeartbeats : kFarmHeartbeat * 2;
    if (now - worker.last_heard > patience) lost.push_back(id);
  }
  for (const std::string& id : lost) SLUICE_TRY(lose_worker(id));
  clients_.turn(now);
  if (!is_draining_) assignment_.copy_stragglers(now);
  if (now >= next_look_) {
    next_look_ = now + kFarmHeartbeat;
    unfit_.look(board_.queue(), workers_, now);
  }
  if (now >= next_collection_) {
    next_collection_ = now + kFarmCollectPause;
    if (const auto kept = collect_if_full(store_); !kept)
      log_.warn("store not collected", {{"why", kept.error().message}});
    artifacts_.forget_all();
  }
  return {};
}

// Returns the number of workers that the jobs of now could use, when each has as many slots as
// those that are here.
size_t Dispatch::wanted_workers() const {
  const size_t running = workers_.leases().size();
  const size_t jobs = is_draining_ ? running : board_.ready() + running;
  const size_t workers = std::max<size_t>(1, workers_.all().size());
  const size_t slots = std::max<size_t>(1, workers_.slots() / workers);
  return (jobs + slots - 1) / slots;
}

// ---- messages

Result<void> Dispatch::take(const Incoming& incoming) {
  const pb::FarmMessage& message = incoming.message;
  if (const auto error = role_violation(incoming)) {
    refused_.add({incoming.user, {}, error->message});
    return refuse(incoming.peer, *error), Result<void>();
  }
  switch (message.is_case()) {
    case pb::FarmMessage::kSubmit:
      if (!check_release(incoming.peer, message.submit().release())) return {};
      return clients_.take(incoming, message.submit(), is_draining_);
    case pb::FarmMessage::kClientBeat:
      return clients_.take(incoming, message.client_beat());
    case pb::FarmMessage::kWorkerBeat:
      return take_worker_beat(incoming, message.worker_beat());
    case pb::FarmMessage::kDone:
      return take_done(incoming, message.done());
    case pb::FarmMessage::kGet:
      return take_get(incoming, message.get()), Result<void>();
    case pb::FarmMessage::kPiece:
      artifacts_.take(incoming.peer, message.piece(), incoming.bytes.bytes);
      return {};
    case pb::FarmMessage::kAskStatus:
      return send_status(incoming.peer), Result<void>();
    case pb::FarmMessage::kRelease:
      return take_release(incoming, message.release());
    case pb::FarmMessage::kDrain:
      if (!is_draining_) log_.report("draining", {});
      is_draining_ = true;
      return send_status(incoming.peer), Result<void>();
    default:
      return {};  // not for a dispatcher
  }
}

void Dispatch::refuse(const std::string& peer, const Error& error) {
  seams_.send(peer, refused_message(error), {});
}

bool Dispatch::check_release(const std::string& peer, const std::string& release) {
  if (release == version_text()) return true;
  refuse(peer, make_error(ErrorCode::kBadReply, "the farm is of release '{}', this is '{}'",
                          version_text(), release)
                   .with_hint("use programs of one release"));
  return false;
}

void Dispatch::take_get(const Incoming& incoming, const pb::Get& get) {
  last_get_ = seams_.now();
  if (holders_.answer(incoming.peer, get, last_get_)) return;
  PieceOfArtifact answer = read_piece(store_, get);
  const auto digest = digest_of_field(get.digest());
  if (digest && answer.message.piece().is_missing()) artifacts_.forget(*digest);
  sent_bytes_ += answer.bytes.bytes.size();
  seams_.send(incoming.peer, answer.message, std::move(answer.bytes));
}

Result<void> Dispatch::take_release(const Incoming& incoming, const pb::Release& release) {
  const auto key = digest_of_field(release.key());
  const Result<void> released =
      key ? board_.release(*key) : make_error(ErrorCode::kBadRequest, "the request names no job");
  if (!released) {
    refuse(incoming.peer, released.error());
    return {};
  }
  return send_status(incoming.peer), Result<void>();
}

// ---- workers

Result<void> Dispatch::take_worker_beat(const Incoming& incoming, const pb::WorkerBeat& beat) {
  if (beat.worker().empty() || !check_release(incoming.peer, beat.release())) return {};
  const bool is_new = workers_.find(beat.worker()) == nullptr;
  FarmWorker& worker = workers_.get(beat.worker());
  if (is_new) {
    worker.id = beat.worker();
    ++come_workers_;
    log_.report("worker came", {{"worker", beat.name()},
                                {"slots", fmt::format("{}", beat.slots())},
                                {"profile", beat.profile()}});
  }
  if (!is_new && beat.number() < worker.beat.number()) return {};  // late
  workers_.connect(worker, incoming.peer, incoming.user);
  worker.beat = beat;
  worker.last_heard = seams_.now();
  pb::FarmMessage answer;
  answer.mutable_heartbeat();
  worker.is_reachable = seams_.send(worker.peer, answer, {});
  holders_.take_beat(worker, worker.last_heard);
  SLUICE_TRY(take_running(worker, beat));
  const bool leaves = beat.is_draining() && beat.running().empty();
  return leaves ? lose_worker(worker.id) : Result<void>();
}

// Compares what a worker has with what it was given.
Result<void> Dispatch::take_running(FarmWorker& worker, const pb::WorkerBeat& beat) {
  std::set<uint64_t> has;
  pb::FarmMessage revoked;
  for (const pb::Running& running : beat.running()) {
    has.insert(running.lease());
    const auto lease = worker.leases.find(running.lease());
    if (lease != worker.leases.end()) {
      lease->second.has_begun = running.has_begun();
    } else if (!adopt(worker, running)) {
      revoked.mutable_revoke()->add_leases(running.lease());
    }
  }
  if (revoked.has_revoke()) seams_.send(worker.peer, revoked, {});
  std::map<uint64_t, std::vector<uint64_t>> missing;  // by group
  for (auto& [number, lease] : worker.leases) {
    const bool is_late = seams_.now() - lease.assigned >= kAssignPatience;
    if (!has.contains(number) && (is_late || beat.is_draining()))
      missing[lease.group].push_back(number);
  }
  for (const auto& [group, leases] : missing) {
    if (beat.is_draining()) {
      SLUICE_TRY(take_back(worker, leases));
    } else {
      send_assign(worker, leases);
    }
  }
  return {};
}

Result<void> Dispatch::take_back(FarmWorker& worker, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    FarmJob* job = board_.find(worker.leases.at(number).key);
    workers_.free(number);
    if (job != nullptr) SLUICE_TRY(board_.lose(*job, number, Blame::kNone));
  }
  return {};
}

// A worker goes on with what an earlier dispatcher, or this one, which had given it up, wanted.
// What it has done is not taken over: the Done says what became of it, and may have come already.
bool Dispatch::adopt(FarmWorker& worker, const pb::Running& running) {
  if (running.is_done()) return true;
  const auto key = digest_of_field(running.key());
  FarmJob* job = key ? board_.find(*key) : nullptr;
  if (job == nullptr || job->end) return false;
  board_.begin(*job, running.lease());
  workers_.adopt(worker, running.lease(),
                 {.key = *key,
                  .group = running.lease(),
                  .assigned = seams_.now(),
                  .has_begun = running.has_begun()});
  return true;
}

Result<void> Dispatch::lose_worker(const std::string& id) {
  const std::string name = workers_.get(id).beat.name();
  holders_.remove(id);
  const std::vector<LostLease> lost = workers_.remove(id, seams_.now());
  if (lost.empty()) {
    log_.report("worker left", {{"worker", name}});
  } else {
    ++lost_workers_;
    log_.warn("worker lost", {{"worker", name}, {"jobs", fmt::format("{}", lost.size())}});
  }
  for (const LostLease& lease : lost) {
    FarmJob* job = board_.find(lease.key);
    if (job != nullptr) SLUICE_TRY(board_.lose(*job, lease.number, lease.blame));
  }
  return {};
}

void Dispatch::count_lie(const std::string& peer) {
  if (!workers_.count_lie(peer)) return;
  const FarmWorker& worker = *workers_.find_at(peer);
  log_.warn("worker excluded", {{"worker", worker.beat.name()},
                                {"key", worker.user},
                                {"why", "its products are not what it says"}});
}

// ---- from jobs to workers and back

void Dispatch::send_assign(FarmWorker& worker, const std::vector<uint64_t>& leases) {
  pb::FarmMessage message;
  for (const uint64_t number : leases) {
    FarmLease& lease = worker.leases.at(number);
    lease.assigned = seams_.now();
    const FarmJob* job = board_.find(lease.key);
    if (job == nullptr) continue;
    pb::Lease& sent = *message.mutable_assign()->add_leases();
    sent.set_lease(number);
    sent.set_record(job->record);
  }
  if (message.has_assign()) worker.is_reachable = seams_.send(worker.peer, message, {});
}

// A worker says so again until it gets an answer. It may have another connection by then, and may
// have been given up: what it has made counts all the same, how it has failed does not.
Result<void> Dispatch::take_done(const Incoming& incoming, const pb::Done& done) {
  const auto key = digest_of_field(done.end().key());
  FarmJob* job = key ? board_.find(*key) : nullptr;
  const bool is_holder = workers_.has(done.worker(), done.lease());
  const bool has_failed = done.end().exit_code() != 0;
  if (job == nullptr || job->end || (has_failed && !is_holder)) {
    if (is_holder) free_lease(done.lease());
    note_taken(incoming.peer, done.lease());
    return {};
  }
  if (job->state == FarmJob::State::kAccepting && accepting_[*key].peer == incoming.peer) return {};
  if (FarmWorker* worker = workers_.find(done.worker())) ++worker->done;
  if (done.microseconds() > 0) assignment_.note_run(job->kind, microseconds(done.microseconds()));
  if (!has_failed) {
    job->state = FarmJob::State::kAccepting;
    accepting_[*key] = {incoming.peer, done.lease()};
    acceptance_.begin(*job, done.worker(), incoming.peer, done.end());
    return {};
  }
  free_lease(done.lease());
  note_taken(incoming.peer, done.lease());
  if (job->state == FarmJob::State::kAccepting) return {};  // another worker has made it
  if (done.lacks_input()) return board_.put_back(*job), Result<void>();
  if (done.is_transient()) {
    const bool goes_on = job->failures + 1 < kMaxFailures;
    log_.report(goes_on ? "job failed, goes on" : "job failed too often",
                {{"job", short_key(*key)}, {"why", done.end().error()}});
    const FarmWorker* worker = workers_.find(done.worker());
    if (done.lacks_memory() && worker != nullptr)
      need_more_memory(*job, worker->beat.memory_bytes());
    return board_.retry(*job, done.end());
  }
  log_.detail("job failed", {{"job", short_key(*key)}});
  return end_job(*job, done.end());
}

Result<void> Dispatch::take_outcome(const Acceptance::Outcome& outcome) {
  const auto from = accepting_.find(outcome.key);
  if (from != accepting_.end()) {
    if (workers_.has(outcome.worker, from->second.lease)) free_lease(from->second.lease);
    note_taken(from->second.peer, from->second.lease);
    accepting_.erase(from);
  }
  FarmJob* job = board_.find(outcome.key);
  if (job == nullptr || job->end) return {};
  if (outcome.fault.empty()) {
    SLUICE_TRY(board_.state().put_product(outcome.key, outcome.end.record()));
    log_.detail("job done", {{"job", short_key(outcome.key)},
                             {"record", digest_hex(sha256(outcome.end.record()))}});
    return end_job(*job, outcome.end);
  }
  log_.warn("product not accepted", {{"job", short_key(outcome.key)}, {"why", outcome.fault}});
  const FarmWorker* worker = workers_.find(outcome.worker);  // none: it was lost
  if ((outcome.is_lie || outcome.is_silent) && worker != nullptr) count_lie(worker->peer);
  if (!outcome.is_lie) return board_.put_back(*job), Result<void>();
  return board_.retry(
      *job,
      failed_end(outcome.key, ExitClass::kResource,
                 "sluice-farm: error: the product was not accepted: " + outcome.fault + "\n"));
}

// Ends a job everywhere.
Result<void> Dispatch::end_job(FarmJob& job, const pb::JobEnd& end) {
  assignment_.note_time(job.kind, seams_.now() - job.since);
  const std::set<uint64_t> others = job.leases;
  for (const uint64_t lease : others) {
    const FarmWorker* holder = workers_.holder(lease);
    if (holder == nullptr) continue;
    pb::FarmMessage message;
    message.mutable_revoke()->add_leases(lease);
    seams_.send(holder->peer, message, {});
    free_lease(lease);
  }
  return board_.end(job, end);
}

void Dispatch::free_lease(uint64_t number) {
  FarmWorker* worker = workers_.holder(number);
  if (worker == nullptr) return;
  if (FarmJob* job = board_.find(worker->leases.at(number).key)) job->leases.erase(number);
  workers_.free(number);
}

// ---- what may be said once it is durable

void Dispatch::report_after_commit() {
  clients_.report_after_commit();
  for (const auto& [peer, leases] : std::exchange(taken_, {})) {
    pb::FarmMessage message;
    for (const uint64_t lease : leases) message.mutable_done_taken()->add_leases(lease);
    seams_.send(peer, message, {});
  }
}

FarmStatus Dispatch::status() const {
  return FarmStatus{.board = board_,
                    .workers = workers_.all(),
                    .unfit = unfit_.by_owner(),
                    .lost_workers = lost_workers_,
                    .copies = assignment_.copies(),
                    .dropped_messages = seams_.dropped(),
                    .received_bytes = artifacts_.received_bytes(),
                    .sent_bytes = sent_bytes_,
                    .peer_bytes = holders_.bytes(),
                    .is_draining = is_draining_};
}

void Dispatch::send_status(const std::string& peer) {
  pb::FarmMessage message;
  message.mutable_status()->set_json(status_json(status()));
  seams_.send(peer, message, {});
}

}  // namespace sluice
