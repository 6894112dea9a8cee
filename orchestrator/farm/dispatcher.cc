#include "orchestrator/farm/dispatcher.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/stop_signals.h"
#include "common/graphfile/header.h"
#include "common/wire/channel.h"
#include "common/wire/client.h"
#include "common/wire/endpoint.h"
#include "orchestrator/farm/acceptance.h"
#include "orchestrator/farm/farm_status.h"
#include "orchestrator/farm/farm_workers.h"
#include "orchestrator/farm/free_space.h"
#include "orchestrator/farm/job_board.h"
#include "orchestrator/farm/metrics_server.h"
#include "orchestrator/farm/roles.h"
#include "orchestrator/store/collect.h"

namespace sluice {
namespace {

using State = FarmJob::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kHeartbeat{kHeartbeatMs};
constexpr size_t kMessagesAtOnce = 2000;
constexpr milliseconds kTick{100};
constexpr milliseconds kIdle{1000};
constexpr milliseconds kAssignPatience{1500};  // until a worker has said that it has a lease
constexpr milliseconds kResendPatience{1000};
constexpr size_t kMaxTogether = 16;  // jobs of one slot
constexpr int kEpochBits = 40;       // leases of one start
constexpr uint64_t kMaxLies = 3;     // then a worker gets nothing more
constexpr seconds kCollectPause{60};
constexpr seconds kSpacePause{2};  // between two deletions in a full store
constexpr seconds kMinLate{10};    // a job that runs shorter is no straggler
constexpr int kLate = 4;           // times as long as is usual
constexpr int kMemory = 16;        // jobs that the usual time is a mean of
constexpr seconds kStorm{15};      // workers that are lost in so short a time have a common cause

class Dispatcher {
 public:
  Dispatcher(const DispatcherRequest& request, Channel channel, FarmState state, Descriptor signals)
      : request_(request),
        log_("sluice-farm", request.log_json, request.log_level),
        channel_(std::move(channel)),
        signals_(std::move(signals)),
        store_(request.store),
        artifacts_(store_,
                   [this](const std::string& peer, pb::Get get) {
                     pb::FarmMessage message;
                     *message.mutable_get() = std::move(get);
                     return channel_.send(peer, message);
                   }),
        acceptance_(store_, artifacts_, request.verifying),
        board_(store_, artifacts_, std::move(state), request.state + "/quarantine", log_) {}

  Result<int> run() {
    SLUICE_ASSIGN(const int64_t epoch, board_.state().next_epoch());
    next_lease_ = (static_cast<uint64_t>(epoch) << kEpochBits) + 1;
    SLUICE_TRY(board_.load());
    SLUICE_TRY(board_.commit());
    if (!request_.metrics.empty()) {
      SLUICE_ASSIGN(MetricsServer metrics, MetricsServer::listen(request_.metrics));
      metrics_.emplace(std::move(metrics));
    }
    if (slurm_request_.is_used) {
      if (slurm_request_.endpoint.empty()) slurm_request_.endpoint = channel_.endpoint();
      slurm_.emplace(slurm_request_, log_);
    }
    log_.tell("listening", {{"endpoint", channel_.endpoint()},
                            {"store", request_.store},
                            {"jobs", fmt::format("{}", board_.jobs().size())}});
    while (!is_stopped_) SLUICE_TRY(turn());
    log_.tell("ended", {{"jobs", fmt::format("{}", board_.jobs().size())}});
    return 0;
  }

 private:
  // ---- a turn

  Result<void> turn() {
    wait();
    size_t taken = 0;
    for (; taken < kMessagesAtOnce; ++taken) {
      auto incoming = channel_.receive();
      if (!incoming) break;
      SLUICE_TRY(take(*incoming));
    }
    has_more_ = taken == kMessagesAtOnce;
    tell_refused();
    const auto now = FarmClock::now();
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
    SLUICE_TRY(assign());
    SLUICE_TRY(board_.commit());
    tell_after_commit();
    if (metrics_) metrics_->answer([this] { return metrics_text(status()); });
    if (is_draining_ && leases_.empty()) is_stopped_ = true;
    return {};
  }

  void free_space_now(FarmClock::time_point now) {
    if (now < next_freeing_) return;
    next_freeing_ = now + kSpacePause;
    if (free_space(request_.store, log_)) artifacts_.forget_all();
  }

  void wait() {
    std::vector<int> descriptors = {signals_.get()};
    if (metrics_) descriptors.push_back(metrics_->descriptor());
    acceptance_.add_descriptors(descriptors);
    const bool is_idle = board_.jobs().empty() && workers_.empty();
    const auto ready = channel_.wait(descriptors, has_more_ ? milliseconds(0)
                                                  : is_idle ? kIdle
                                                            : kTick);
    if (ready[0]) is_stopped_ = true;
  }

  Result<void> tick(FarmClock::time_point now) {
    next_tick_ = now + kTick;
    SLUICE_TRY(board_.turn(now));
    if (slurm_) slurm_->set_wanted(wanted_workers(), come_workers_);
    std::vector<std::string> lost;
    for (const auto& [id, worker] : workers_) {
      const auto patience = worker.is_reachable ? kHeartbeat * kMissedHeartbeats : kHeartbeat * 2;
      if (now - worker.last_heard > patience) lost.push_back(id);
    }
    for (const std::string& id : lost) SLUICE_TRY(lose_worker(id));
    for (auto& [id, client] : board_.clients()) {
      // What was sent may not have come.
      if (client.sent > client.seen() && now - client.last_sent > kResendPatience)
        client.sent = client.seen();
    }
    copy_stragglers(now);
    if (now >= next_collection_) {
      next_collection_ = now + kCollectPause;
      if (const auto kept = collect_if_full(store_); !kept)
        log_.warn("store not collected", {{"why", kept.error().message}});
      artifacts_.forget_all();
    }
    return {};
  }

  // The number of workers that the jobs of now could use, when each has as many slots as those that
  // are here.
  size_t wanted_workers() const {
    const size_t jobs = is_draining_ ? leases_.size() : board_.ready() + leases_.size();
    const size_t slots = std::max<size_t>(1, slots_ / std::max<size_t>(1, workers_.size()));
    return (jobs + slots - 1) / slots;
  }

  // ---- messages

  Result<void> take(const Incoming& incoming) {
    const pb::FarmMessage& message = incoming.message;
    if (const auto error = role_violation(incoming)) {
      refused_.add({incoming.user, {}, error->message});
      return refuse(incoming.peer, *error), Result<void>();
    }
    switch (message.is_case()) {
      case pb::FarmMessage::kSubmit:
        return take_submit(incoming, message.submit());
      case pb::FarmMessage::kClientBeat:
        return take_client_beat(incoming, message.client_beat());
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
        is_draining_ = true;
        log_.tell("draining", {});
        return send_status(incoming.peer), Result<void>();
      default:
        return {};  // not for a dispatcher
    }
  }

  void tell_refused() {
    std::vector<RefusedPeer> peers = channel_.take_refused();
    for (RefusedPeer& peer : refused_.take()) peers.push_back(std::move(peer));
    for (const RefusedPeer& peer : peers)
      log_.warn("peer refused", {{"key", peer.key}, {"address", peer.address}, {"why", peer.why}});
  }

  void refuse(const std::string& peer, const Error& error) {
    pb::FarmMessage message;
    *message.mutable_refused() = failure_message(error);
    channel_.send(peer, message);
  }

  bool check_release(const std::string& peer, const std::string& release) {
    if (release == version_text()) return true;
    refuse(peer, make_error(ErrorCode::kBadReply, "the farm is of release '{}', this is '{}'",
                            version_text(), release)
                     .with_hint("use programs of one release"));
    return false;
  }

  Result<void> take_submit(const Incoming& incoming, const pb::Submit& submit) {
    if (submit.client().empty() || !check_release(incoming.peer, submit.release())) return {};
    const auto jobs_after = board_.jobs().size() + static_cast<size_t>(submit.jobs_size());
    const bool is_full = jobs_after > request_.max_jobs || is_draining_;
    FarmClient& client = board_.client(
        submit.client(), incoming.user.empty() ? submit.owner() : incoming.user, incoming.peer);
    for (int i = 0; i < submit.jobs_size() && !is_full; ++i) {
      auto job = farm_job_of(submit.jobs(i));
      if (!job) {
        refuse(incoming.peer, job.error());
        return {};
      }
      SLUICE_TRY(board_.submit(client, std::move(job).value()));
    }
    pb::FarmMessage answer;
    answer.mutable_accepted()->set_number(submit.number());
    answer.mutable_accepted()->set_is_full(is_full);
    after_commit_.emplace_back(incoming.peer, std::move(answer));
    return {};
  }

  Result<void> take_client_beat(const Incoming& incoming, const pb::ClientBeat& beat) {
    FarmClient* client = board_.find_client(beat.client());
    pb::FarmMessage answer;
    if (beat.leaves()) return board_.remove_client(beat.client());
    if (client == nullptr) {
      answer.mutable_ended()->set_has_lost_client(true);
      channel_.send(incoming.peer, answer);
      return {};
    }
    board_.client(beat.client(), client->owner, incoming.peer);
    if (beat.seen() < client->sent && FarmClock::now() - client->last_sent > kResendPatience)
      client->sent = client->seen();
    SLUICE_TRY(board_.take_seen(*client, std::min(beat.seen(), client->ended)));
    answer.mutable_heartbeat();
    channel_.send(incoming.peer, answer);
    return {};
  }

  void take_get(const Incoming& incoming, const pb::Get& get) {
    PieceOfArtifact answer = read_piece(store_, get);
    if (const auto digest = digest_of_field(get.digest()); digest && answer.piece.is_missing())
      artifacts_.forget(*digest);
    sent_bytes_ += answer.bytes.bytes.size();
    pb::FarmMessage message;
    *message.mutable_piece() = std::move(answer.piece);
    channel_.send(incoming.peer, message, std::move(answer.bytes));
  }

  Result<void> take_release(const Incoming& incoming, const pb::Release& release) {
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

  Result<void> take_worker_beat(const Incoming& incoming, const pb::WorkerBeat& beat) {
    if (beat.worker().empty() || !check_release(incoming.peer, beat.release())) return {};
    auto [entry, is_new] = workers_.try_emplace(beat.worker());
    FarmWorker& worker = entry->second;
    if (is_new) {
      worker.id = beat.worker();
      ++come_workers_;
      log_.tell("worker came", {{"worker", beat.name()},
                                {"slots", fmt::format("{}", beat.slots())},
                                {"profile", beat.profile()}});
    }
    if (!is_new && beat.number() < worker.beat.number()) return {};  // late
    worker.peer = incoming.peer;
    worker.beat = beat;
    worker.last_heard = FarmClock::now();
    pb::FarmMessage answer;
    answer.mutable_heartbeat();
    worker.is_reachable = channel_.send(worker.peer, answer);
    SLUICE_TRY(take_running(worker, beat));
    const bool leaves = beat.is_draining() && beat.running().empty();
    return leaves ? lose_worker(worker.id) : Result<void>();
  }

  // Compares what a worker has with what it was given.
  Result<void> take_running(FarmWorker& worker, const pb::WorkerBeat& beat) {
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
    if (revoked.has_revoke()) channel_.send(worker.peer, revoked);
    std::map<uint64_t, std::vector<uint64_t>> lacking;  // by group
    for (auto& [number, lease] : worker.leases) {
      const bool is_late = FarmClock::now() - lease.assigned >= kAssignPatience;
      if (!has.contains(number) && (is_late || beat.is_draining()))
        lacking[lease.group].push_back(number);
    }
    for (const auto& [group, leases] : lacking) {
      if (beat.is_draining()) {
        SLUICE_TRY(take_back(worker, leases));
      } else {
        send_assign(worker, leases);
      }
    }
    return {};
  }

  Result<void> take_back(FarmWorker& worker, const std::vector<uint64_t>& numbers) {
    for (const uint64_t number : numbers) {
      FarmJob* job = board_.find(worker.leases.at(number).key);
      free_lease(number);
      if (job != nullptr) SLUICE_TRY(board_.lose(*job, number, Blame::kNone));
    }
    return {};
  }

  // A worker goes on with what an earlier dispatcher, or this one, which had given it up, wanted.
  // What it has done is not taken over: the Done says what became of it, and may have come already.
  bool adopt(FarmWorker& worker, const pb::Running& running) {
    if (running.is_done()) return true;
    const auto key = digest_of_field(running.key());
    FarmJob* job = key ? board_.find(*key) : nullptr;
    if (job == nullptr || job->end) return false;
    board_.begin(*job, running.lease());
    worker.leases[running.lease()] = {.key = *key,
                                      .group = running.lease(),
                                      .assigned = FarmClock::now(),
                                      .has_begun = running.has_begun()};
    leases_[running.lease()] = worker.id;
    return true;
  }

  Result<void> lose_worker(const std::string& id) {
    const auto entry = workers_.find(id);
    FarmWorker worker = std::move(entry->second);
    workers_.erase(entry);
    if (reserved_ == id) reserved_.clear();
    const auto now = FarmClock::now();
    while (!losses_.empty() && now - losses_.front().time > kStorm) losses_.pop_front();
    const bool was_alone = worker.begun() == 1;
    Loss loss{.time = now, .keys = {}};
    if (worker.leases.empty()) {
      log_.tell("worker left", {{"worker", worker.beat.name()}});
    } else {
      ++lost_workers_;
      log_.warn("worker lost", {{"worker", worker.beat.name()},
                                {"jobs", fmt::format("{}", worker.leases.size())}});
    }
    for (const auto& [number, lease] : worker.leases) {
      leases_.erase(number);
      const bool is_excused = std::ranges::any_of(
          losses_, [&](const Loss& other) { return !other.keys.contains(lease.key); });
      loss.keys.insert(lease.key);
      const Blame blame = !lease.has_begun ? Blame::kNone
                          : is_excused     ? Blame::kExcused
                          : was_alone      ? Blame::kAlone
                                           : Blame::kTogether;
      if (FarmJob* job = board_.find(lease.key)) SLUICE_TRY(board_.lose(*job, number, blame));
    }
    if (!loss.keys.empty()) losses_.push_back(std::move(loss));
    return {};
  }

  void count_lie(const std::string& peer) {
    for (auto& [id, worker] : workers_) {
      if (worker.peer != peer) continue;
      if (++worker.lies == kMaxLies)
        log_.warn("worker excluded",
                  {{"worker", worker.beat.name()}, {"why", "its products are not what it says"}});
    }
  }

  // ---- from jobs to workers and back

  Result<void> assign() {
    if (is_draining_ || board_.ready() == 0) return {};
    slots_ = 0;
    for (const auto& [id, worker] : workers_) slots_ += worker.beat.slots();
    if (board_.has_alone()) assign_alone();
    // Each worker gets its share before any gets more than its slots.
    for (const size_t spare : {0, 1}) {
      if (spare > 0 && board_.ready() <= 2 * slots_) return {};
      for (bool has_given = true; has_given && board_.ready() > 0;) {
        has_given = false;
        for (auto& [id, worker] : workers_) has_given |= assign_to(worker, spare);
      }
    }
    return {};
  }

  static bool takes_jobs(const FarmWorker& worker) {
    return worker.is_reachable && !worker.beat.is_draining() && worker.lies < kMaxLies;
  }

  bool assign_to(FarmWorker& worker, size_t spare) {
    if (!takes_jobs(worker) || worker.is_alone || worker.id == reserved_) return false;
    if (worker.groups() >= worker.beat.slots() + spare) return false;
    const auto fits = [&](const std::string& needs) { return can_run(worker.beat, needs); };
    const size_t share =
        std::clamp<size_t>(board_.ready() / (2 * std::max<size_t>(slots_, 1)), 1, kMaxTogether);
    const auto count = [&](const std::string& kind) {
      return kind == "compile" ? size_t{1} : share;  // kernels take milliseconds
    };
    const std::vector<Digest> keys = board_.take(fits, count);
    if (keys.empty()) return false;
    give(worker, keys);
    return true;
  }

  void assign_alone() {
    for (auto& [id, worker] : workers_) {
      if (!takes_jobs(worker) || worker.is_alone) continue;
      const auto fits = [&](const std::string& needs) { return can_run(worker.beat, needs); };
      if (!reserved_.empty() && reserved_ != id) continue;
      if (!worker.leases.empty()) {
        reserved_ = id;  // it gets nothing more until it is free
        continue;
      }
      const auto key = board_.take_alone(fits);
      if (!key) continue;
      worker.is_alone = true;
      reserved_.clear();
      give(worker, {*key});
    }
  }

  void give(FarmWorker& worker, const std::vector<Digest>& keys) {
    const uint64_t group = next_lease_;
    std::vector<uint64_t> leases;
    for (const Digest& key : keys) {
      const uint64_t number = next_lease_++;
      leases.push_back(number);
      worker.leases[number] = {
          .key = key, .group = group, .assigned = FarmClock::now(), .has_begun = false};
      leases_[number] = worker.id;
      board_.begin(*board_.find(key), number);
    }
    send_assign(worker, leases);
  }

  // A job that runs much longer than others of its kind, at a worker that may be slow or stuck,
  // also goes to one that has nothing else to do; the first product counts.
  void copy_stragglers(FarmClock::time_point now) {
    if (is_draining_ || board_.ready() > 0) return;
    std::vector<Digest> late;
    for (const auto& [number, id] : leases_) {
      const FarmLease& lease = workers_.at(id).leases.at(number);
      const FarmJob* job = board_.find(lease.key);
      if (job == nullptr || job->leases.size() != 1 || !lease.has_begun) continue;
      if (now - job->since > std::max<FarmClock::duration>(kMinLate, kLate * usual_[job->kind]))
        late.push_back(lease.key);
    }
    for (const Digest& key : late) {
      const FarmJob& job = *board_.find(key);
      for (auto& [id, worker] : workers_) {
        if (!takes_jobs(worker) || !worker.leases.empty() || !can_run(worker.beat, job.needs))
          continue;
        ++copies_;
        log_.tell("job copied", {{"job", short_key(key)}, {"worker", worker.beat.name()}});
        give(worker, {key});
        break;
      }
    }
  }

  void send_assign(FarmWorker& worker, const std::vector<uint64_t>& leases) {
    pb::FarmMessage message;
    for (const uint64_t number : leases) {
      FarmLease& lease = worker.leases.at(number);
      lease.assigned = FarmClock::now();
      const FarmJob* job = board_.find(lease.key);
      if (job == nullptr) continue;
      pb::Lease& sent = *message.mutable_assign()->add_leases();
      sent.set_lease(number);
      sent.set_record(job->record);
    }
    if (message.has_assign()) worker.is_reachable = channel_.send(worker.peer, message);
  }

  Result<void> take_done(const Incoming& incoming, const pb::Done& done) {
    const auto key = digest_of_field(done.end().key());
    FarmJob* job = key ? board_.find(*key) : nullptr;
    if (job == nullptr || job->end) {
      free_lease(done.lease());
      note_taken(incoming.peer, done.lease());
      return {};
    }
    // It says so again until it is told; it may have another connection by now.
    if (job->state == State::kAccepting && accepting_[*key].peer == incoming.peer) return {};
    const auto worker = workers_.find(done.worker());
    if (worker != workers_.end()) ++worker->second.done;
    if (done.end().exit_code() == 0) {
      job->state = State::kAccepting;
      accepting_[*key] = {incoming.peer, done.lease()};
      acceptance_.begin(*job, done.worker(), incoming.peer, done.end());
      return {};
    }
    free_lease(done.lease());
    note_taken(incoming.peer, done.lease());
    job->leases.erase(done.lease());
    if (done.lacks_input()) return board_.put_back(*job), Result<void>();
    if (done.is_transient()) {
      log_.tell("job failed, goes on", {{"job", short_key(*key)}, {"why", done.end().error()}});
      return board_.retry(*job, done.end());
    }
    log_.detail("job failed", {{"job", short_key(*key)}});
    return end_job(*job, done.end());
  }

  Result<void> take_outcome(const Acceptance::Outcome& outcome) {
    const auto from = accepting_.find(outcome.key);
    if (from != accepting_.end()) {
      free_lease(from->second.lease);
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
    const auto worker = workers_.find(outcome.worker);
    // One that was lost is not there any more.
    if ((outcome.is_lie || outcome.is_silent) && worker != workers_.end())
      count_lie(worker->second.peer);
    if (!outcome.is_lie) return board_.put_back(*job), Result<void>();
    return board_.retry(
        *job,
        failed_end(outcome.key, ExitClass::kResource,
                   "sluice-farm: error: the product was not accepted: " + outcome.fault + "\n"));
  }

  // Ends a job everywhere.
  Result<void> end_job(FarmJob& job, const pb::JobEnd& end) {
    FarmClock::duration& usual = usual_[job.kind];
    const FarmClock::duration time = FarmClock::now() - job.since;
    usual = usual.count() == 0 ? time : usual + (time - usual) / kMemory;
    const std::set<uint64_t> others = job.leases;
    for (const uint64_t lease : others) {
      const auto holder = leases_.find(lease);
      if (holder == leases_.end()) continue;
      pb::FarmMessage message;
      message.mutable_revoke()->add_leases(lease);
      channel_.send(workers_.at(holder->second).peer, message);
      free_lease(lease);
    }
    return board_.end(job, end);
  }

  void free_lease(uint64_t number) {
    const auto holder = leases_.find(number);
    if (holder == leases_.end()) return;
    FarmWorker& worker = workers_.at(holder->second);
    const auto lease = worker.leases.find(number);
    if (FarmJob* job = board_.find(lease->second.key)) job->leases.erase(number);
    worker.leases.erase(lease);
    if (worker.leases.empty()) worker.is_alone = false;
    leases_.erase(holder);
  }

  void note_taken(const std::string& peer, uint64_t lease) { taken_[peer].push_back(lease); }

  // ---- what may be said once it is durable

  void tell_after_commit() {
    for (auto& [peer, message] : std::exchange(after_commit_, {})) channel_.send(peer, message);
    for (const auto& [peer, leases] : std::exchange(taken_, {})) {
      pb::FarmMessage message;
      for (const uint64_t lease : leases) message.mutable_done_taken()->add_leases(lease);
      channel_.send(peer, message);
    }
    for (auto& [id, client] : board_.clients()) {
      while (client.sent < client.ended && !client.peer.empty()) {
        pb::FarmMessage message;
        *message.mutable_ended() = next_ends(client, board_.jobs());
        client.last_sent = FarmClock::now();
        if (!channel_.send(client.peer, message)) break;
      }
    }
  }

  FarmStatus status() const {
    return FarmStatus{.board = board_,
                      .workers = workers_,
                      .lost_workers = lost_workers_,
                      .copies = copies_,
                      .dropped_messages = channel_.dropped(),
                      .received_bytes = artifacts_.received_bytes(),
                      .sent_bytes = sent_bytes_,
                      .is_draining = is_draining_};
  }

  void send_status(const std::string& peer) {
    pb::FarmMessage message;
    message.mutable_status()->set_json(status_json(status()));
    channel_.send(peer, message);
  }

  struct Loss {  // of a worker that had jobs
    FarmClock::time_point time;
    std::set<Digest> keys;
  };
  struct From {
    std::string peer;
    uint64_t lease = 0;
  };

  const DispatcherRequest& request_;
  const FarmLog log_;
  Channel channel_;
  Descriptor signals_;
  Store store_;
  Artifacts artifacts_;
  Acceptance acceptance_;
  JobBoard board_;
  std::optional<MetricsServer> metrics_;
  SlurmWorkersRequest slurm_request_ = request_.slurm;
  std::optional<SlurmWorkers> slurm_;
  std::map<std::string, FarmWorker> workers_;
  std::map<uint64_t, std::string> leases_;  // the workers that have them
  std::map<Digest, From> accepting_;
  std::map<std::string, FarmClock::duration> usual_;  // time of a job, by kind
  std::deque<Loss> losses_;                           // of the last seconds
  RefusedPeers refused_;                              // whose messages their keys do not allow
  std::string reserved_;  // a worker that is to become free for a job that runs alone
  std::vector<std::pair<std::string, pb::FarmMessage>> after_commit_;
  std::map<std::string, std::vector<uint64_t>> taken_;  // leases, by peer
  size_t slots_ = 0;
  uint64_t next_lease_ = 1, come_workers_ = 0, lost_workers_ = 0, copies_ = 0, sent_bytes_ = 0;
  FarmClock::time_point next_tick_{}, next_collection_ = FarmClock::now(), next_freeing_{};
  bool is_stopped_ = false, is_draining_ = false, has_more_ = false;
};

}  // namespace

Result<int> run_dispatcher(const DispatcherRequest& request) {
  SLUICE_ASSIGN(Descriptor signals, stop_signals());
  allow_many_files();
  SLUICE_TRY(make_directories(request.store));
  SLUICE_ASSIGN(FarmState state, FarmState::open(request.state, request.is_synced));
  SLUICE_ASSIGN(Channel channel, Channel::listen(request.endpoint, request.keys));
  const std::string path = ipc_path(channel.endpoint());
  auto ended = Dispatcher(request, std::move(channel), std::move(state), std::move(signals)).run();
  if (!path.empty()) ::unlink(path.c_str());
  return ended;
}

}  // namespace sluice
