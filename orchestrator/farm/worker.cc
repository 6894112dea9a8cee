#include "orchestrator/farm/worker.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "common/base/files.h"
#include "common/base/stop_signals.h"
#include "common/graphfile/header.h"
#include "common/sandbox/sandbox.h"
#include "common/store/build_id.h"
#include "common/wire/channel.h"
#include "common/wire/endpoint.h"
#include "common/wire/failure.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/free_space.h"
#include "orchestrator/farm/peers.h"
#include "orchestrator/farm/random_id.h"
#include "orchestrator/farm/worker_jobs.h"
#include "orchestrator/plan/stage_job.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/store/collect.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kWorkerTick{100};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Returns what the worker says of itself in every beat.
Result<pb::WorkerBeat> own_beat(const WorkerRequest& request) {
  pb::WorkerBeat beat;
  beat.set_worker(random_id());
  beat.set_name(fmt::format("{}:{}", host_name(), ::getpid()));
  beat.set_slots(static_cast<uint32_t>(request.slots));
  beat.set_release(version_text());
  SLUICE_ASSIGN(const std::string profile, profile_field("native"));
  beat.set_profile(profile.substr(kNativeProfile.size()));
  for (size_t i = 1; i < kStageNames.size(); ++i) {
    const std::string stage(kStageNames[i]);
    SLUICE_ASSIGN(const std::string program, find_program("sluice-" + stage));
    SLUICE_ASSIGN(const std::string build, build_id(program));
    beat.add_builds(stage + " " + build);
  }
  if (request.allows_passes) beat.add_builds(std::string(kPassesNeed));
  const auto machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const uint64_t share = machine / static_cast<uint64_t>(request.slots);
  beat.set_memory_bytes(request.job_bytes == 0 ? share : std::min(request.job_bytes, share));
  return beat;
}

class Worker {
 public:
  Worker(const WorkerRequest& request, std::optional<Layers> layers, pb::WorkerBeat beat,
         std::string program, Channel channel, std::optional<PeerServer> server, Descriptor signals)
      : request_(request),
        layers_(std::move(layers)),
        log_("sluice-worker", request.log_json, request.log_level),
        beat_(std::move(beat)),
        channel_(std::move(channel)),
        server_(std::move(server)),
        peers_(channel_, request.keys.key, log_),
        signals_(std::move(signals)),
        store_(request.store),
        artifacts_(store_,
                   [this](const std::string& holder, pb::Get get) {
                     pb::FarmMessage message;
                     *message.mutable_get() = std::move(get);
                     return holder.empty() ? channel_.send(message) : peers_.send(holder, message);
                   }),
        jobs_(store_, artifacts_, command(request, program), static_cast<size_t>(request.slots),
              log_) {}

  Result<int> run() {
    log_.report("working", {{"dispatcher", request_.endpoint},
                            {"slots", fmt::format("{}", request_.slots)},
                            {"profile", beat_.profile()},
                            {"sandbox", layers_ ? layers_text(*layers_) : "none"}});
    if (layers_ && !missing_text(*layers_).empty())
      log_.warn("sandbox not whole", {{"why", missing_text(*layers_)}});
    if (server_) log_.report("serving", {{"endpoint", server_->endpoint()}});
    while (!is_over()) SLUICE_TRY(turn());
    beat_.set_is_draining(true);
    send_beat();  // says that nothing is left
    log_.report("ended", {});
    return 0;
  }

 private:
  static std::vector<std::string> command(const WorkerRequest& request,
                                          const std::string& program) {
    std::vector<std::string> command = {program, "--store=" + request.store, "--quiet",
                                        fmt::format("--threads={}", request.threads)};
    command.insert(command.end(), request.job_options.begin(), request.job_options.end());
    return command;
  }

  bool is_over() const {
    if (stops_ > 1 || (beat_.is_draining() && jobs_.is_idle())) return true;
    // What it has made is in its store; a dispatcher that is gone is not waited for.
    if (beat_.is_draining() && is_silent_ && !jobs_.has_processes()) return true;
    return request_.idle_seconds && jobs_.is_idle() &&
           FarmClock::now() - last_work_ > seconds(*request_.idle_seconds);
  }

  Result<void> turn() {
    wait();
    if (auto error = channel_.take_key_error()) SLUICE_TRY(take_refused(std::move(*error)));
    bool has_changed = false;
    while (auto incoming = channel_.receive()) {
      SLUICE_TRY(take(*incoming));
      has_changed = has_changed || !incoming->message.has_heartbeat();
    }
    const auto now = FarmClock::now();
    artifacts_.turn(now);
    peers_.turn(artifacts_, now);
    if (server_) server_->turn(store_, artifacts_, log_);
    for (const Artifacts::Arrival& arrival : artifacts_.take_arrivals())
      has_changed |= take_arrival(arrival);
    has_changed |= jobs_.turn();
    if (jobs_.take_may_be_full() && free_space(request_.store, log_)) artifacts_.forget_all();
    for (pb::Done& done : jobs_.reports(now)) send_done(std::move(done));
    if (!jobs_.is_idle()) last_work_ = now;
    if (has_changed || now >= next_beat_) send_beat();
    if (now >= next_collection_) collect();
    report_silence(now);
    return {};
  }

  // Returns whether it is to be reported to the dispatcher.
  bool take_arrival(const Artifacts::Arrival& arrival) {
    if (arrival.is_lie) channel_.send(check_question(arrival.digest));
    jobs_.take_arrival(arrival);
    const bool is_worth_sharing = arrival.fault.empty() && arrival.bytes >= kMinShared;
    if (is_worth_sharing) beat_.add_got(digest_field(arrival.digest));
    return is_worth_sharing;
  }

  void wait() {
    std::vector<int> descriptors = {signals_.get()};
    jobs_.add_descriptors(descriptors);
    std::vector<Channel*> channels = {&channel_};
    if (server_) channels.push_back(&server_->channel());
    peers_.add_channels(channels);
    if (!Channel::wait(channels, descriptors, kWorkerTick)[0]) return;
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof(signal)) <= 0) return;
    ++stops_;
    log_.report("draining", {});
    beat_.set_is_draining(true);
    jobs_.drop_waiting();
    send_beat();
  }

  Result<void> take(const Incoming& incoming) {
    const pb::FarmMessage& message = incoming.message;
    if (message.has_refused()) return take_refused(failure_error(message.refused()));
    if (is_refused_ || is_silent_) log_.report("dispatcher answers", {});
    was_accepted_ = true;
    is_refused_ = is_silent_ = false;
    last_heard_ = FarmClock::now();
    switch (message.is_case()) {
      case pb::FarmMessage::kAssign:
        if (!beat_.is_draining()) jobs_.take(message.assign());
        return {};
      case pb::FarmMessage::kRevoke:
        return jobs_.take(message.revoke()), Result<void>();
      case pb::FarmMessage::kDoneTaken:
        return jobs_.take(message.done_taken()), Result<void>();
      case pb::FarmMessage::kPiece:
        return take_piece(incoming), Result<void>();
      case pb::FarmMessage::kGet:
        return send_piece(message.get()), Result<void>();
      default:
        return {};
    }
  }

  void take_piece(const Incoming& incoming) {
    const pb::Piece& piece = incoming.message.piece();
    if (!piece.elsewhere().empty()) return peers_.take(piece, artifacts_);
    if (!piece.is_later()) return artifacts_.take({}, piece, incoming.bytes.bytes);
    if (const auto digest = digest_of_field(piece.digest())) artifacts_.wait(*digest);
  }

  // A key that was good may become good again: the worker goes on asking.
  Result<void> take_refused(Error error) {
    if (error.code != ErrorCode::kKeyRefused || !was_accepted_) return error;
    if (!is_refused_) log_.warn("refused", {{"why", error.message}});
    is_refused_ = true;
    return {};
  }

  void send_piece(const pb::Get& get) {
    PieceOfArtifact answer = read_piece(store_, get);
    channel_.send(answer.message, std::move(answer.bytes));
  }

  void send_done(pb::Done done) {
    done.set_worker(beat_.worker());
    pb::FarmMessage message;
    *message.mutable_done() = std::move(done);
    channel_.send(message);
  }

  void send_beat() {
    next_beat_ = FarmClock::now() + kFarmHeartbeat;
    beat_.set_number(beat_.number() + 1);
    beat_.clear_running();
    for (pb::Running& running : jobs_.running()) *beat_.add_running() = std::move(running);
    beat_.set_peer_bytes(artifacts_.bytes_of_holders());
    pb::FarmMessage message;
    *message.mutable_worker_beat() = beat_;
    channel_.send(message);
    beat_.clear_got();
  }

  void collect() {
    next_collection_ = FarmClock::now() + kFarmCollectPause;
    if (const auto kept = collect_if_full(store_); !kept)
      log_.warn("store not collected", {{"why", kept.error().message}});
    artifacts_.forget_all();
  }

  void report_silence(FarmClock::time_point now) {
    if (is_silent_ || now - last_heard_ < kFarmHeartbeat * kMissedHeartbeats) return;
    is_silent_ = true;
    log_.warn("dispatcher silent", {{"dispatcher", request_.endpoint}});
  }

  const WorkerRequest& request_;
  const std::optional<Layers> layers_;  // of the sandbox; none: jobs run without one
  const FarmLog log_;
  pb::WorkerBeat beat_;
  Channel channel_;
  std::optional<PeerServer> server_;
  Peers peers_;
  Descriptor signals_;
  Store store_;
  Artifacts artifacts_;
  WorkerJobs jobs_;
  int stops_ = 0;
  bool is_silent_ = false, was_accepted_ = false, is_refused_ = false;
  FarmClock::time_point next_beat_{}, last_heard_ = FarmClock::now(), last_work_ = FarmClock::now(),
                                      next_collection_ = FarmClock::now();
};

}  // namespace

Result<int> run_worker(const WorkerRequest& request) {
  SLUICE_ASSIGN(Descriptor signals, stop_signals());
  SLUICE_TRY(make_directories(request.store));
  SLUICE_ASSIGN(const std::string program, find_program("sluice-job"));
  SLUICE_ASSIGN(pb::WorkerBeat beat, own_beat(request));
  SLUICE_ASSIGN(Channel channel, Channel::connect(request.endpoint, request.keys));
  std::optional<PeerServer> server;
  if (!request.serve.bind.empty()) {
    SLUICE_ASSIGN(PeerServer listening, PeerServer::listen(request.serve));
    server.emplace(std::move(listening));
    beat.set_endpoint(server->endpoint());
    beat.set_public_key(server->public_key());
  }
  const std::string path = ipc_path(request.serve.bind);
  std::optional<Layers> layers;
  if (request.is_sandboxed) {
    SLUICE_ASSIGN(layers, offered_layers());
  }
  auto ended = Worker(request, std::move(layers), std::move(beat), program, std::move(channel),
                      std::move(server), std::move(signals))
                   .run();
  if (!path.empty()) ::unlink(path.c_str());
  return ended;
}

}  // namespace sluice
