#include "orchestrator/farm/stage_worker.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scratch_folder.h"
#include "common/base/stop_signals.h"
#include "common/graphfile/header.h"
#include "common/wire/channel.h"
#include "common/wire/endpoint.h"
#include "common/wire/failure.h"
#include "orchestrator/farm/farm_log.h"
#include "orchestrator/farm/roles.h"
#include "orchestrator/farm/stage_runs.h"
#include "orchestrator/store/collect.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStageTick{100};
constexpr size_t kTakenAtOnce = 64;     // messages, before the runs are looked at again
constexpr size_t kMaxWaitingRuns = 64;  // runs; more clients wait with theirs
constexpr size_t kMaxClients = 1024;

class StageWorker {
 public:
  StageWorker(const StageWorkerRequest& request, const std::string& store, Channel channel,
              Descriptor signals)
      : request_(request),
        log_("sluice-worker", request.log_json, request.log_level),
        channel_(std::move(channel)),
        signals_(std::move(signals)),
        store_(store),
        artifacts_(store_,
                   [this](const std::string& peer, pb::Get get) {
                     pb::FarmMessage message;
                     *message.mutable_get() = std::move(get);
                     return channel_.send(peer, message);
                   }),
        runs_({.stage = request.stage,
               .names_files = !ipc_path(request.endpoint).empty(),
               .folder = {},
               .store = request.store,
               .limits = request.sandbox,
               .allows_passes = request.allows_passes},
              request.slots, store_, artifacts_, [this](const std::string& client, pb::JobEnd end) {
                if (const auto found = clients_.find(client); found != clients_.end())
                  found->second.ends.push_back(std::move(end));
              }) {}

  Result<int> run() {
    SLUICE_TRY(announce());
    while (!is_stopped_) turn();
    refuse_all(make_error(ErrorCode::kStageKilled, "the service was ended"));
    return 0;
  }

 private:
  // Of a client that has not left. Ends are numbered, and sent again until the client has seen
  // them.
  struct Client {
    std::string peer;             // its connection
    std::deque<pb::JobEnd> ends;  // that it has not seen
    uint64_t seen = 0, sent = 0;  // numbers of ends
    FarmClock::time_point last_heard{}, last_sent{}, next_beat{};
  };

  Result<void> announce() const {
    std::string held, missing;  // by the sandbox
    if (request_.sandbox) {
      SLUICE_ASSIGN(const Layers layers, offered_layers());
      held = fmt::format("in a sandbox ({}) ", layers_text(layers));
      missing = missing_text(layers);
    }
    const std::string who = request_.stage.empty() ? "all stages" : "sluice-" + request_.stage;
    log_line("sluice-worker", "serves",
             fmt::format("jobs of {} {}at {}", who, held, channel_.endpoint()));
    if (!missing.empty()) log_warning("sluice-worker", "the sandbox is not whole: " + missing);
    return {};
  }

  void turn() {
    std::vector<int> descriptors = {signals_.get()};
    runs_.add_descriptors(descriptors);
    if (channel_.wait(descriptors, kStageTick)[0]) {
      signalfd_siginfo signal{};
      is_stopped_ = ::read(signals_.get(), &signal, sizeof(signal)) > 0;
    }
    for (size_t i = 0; i < kTakenAtOnce; ++i) {
      const auto incoming = channel_.receive();
      if (!incoming) break;
      take(*incoming);
    }
    const auto now = FarmClock::now();
    // What came while this program was stopped has not been seen.
    if (now - last_turn_ > kFarmHeartbeat)
      for (auto& [id, client] : clients_) client.last_heard += now - last_turn_;
    last_turn_ = now;
    artifacts_.turn(now);
    for (const Artifacts::Arrival& arrival : artifacts_.take_arrivals())
      runs_.take_arrival(arrival);
    runs_.turn();
    drop_silent(now);
    for (auto& [id, client] : clients_) report(id, client, now);
    for (const RefusedPeer& peer : channel_.take_refused())
      log_.warn("peer refused", {{"key", peer.key}, {"address", peer.address}, {"why", peer.why}});
    if (now < next_collection_) return;
    next_collection_ = now + kFarmCollectPause;
    if (request_.store.empty() || !collect_if_full(store_)) return;
    artifacts_.forget_all();
  }

  // ---- what clients say

  void take(const Incoming& incoming) {
    const pb::FarmMessage& message = incoming.message;
    switch (message.is_case()) {
      case pb::FarmMessage::kSubmit:
        return take(incoming.peer, message.submit());
      case pb::FarmMessage::kClientBeat:
        return take(incoming.peer, message.client_beat());
      case pb::FarmMessage::kGet: {
        if (!store_.is_used()) return;  // where files are named there are no artifacts
        PieceOfArtifact answer = read_piece(store_, message.get());
        channel_.send(incoming.peer, answer.message, std::move(answer.bytes));
        return;
      }
      case pb::FarmMessage::kPiece:
        return take(incoming, message.piece());
      default:
        return refuse(incoming.peer, make_error(ErrorCode::kBadRequest,
                                                "this worker runs stages, and is no dispatcher"));
    }
  }

  void take(const std::string& peer, const pb::Submit& submit) {
    if (submit.release() != version_text()) {
      return refuse(peer,
                    make_error(ErrorCode::kBadReply, "the worker is of release '{}', this is '{}'",
                               version_text(), submit.release())
                        .with_hint("use programs of one release"));
    }
    const bool is_known = clients_.contains(submit.client());
    const bool is_full =
        runs_.waiting() >= kMaxWaitingRuns || (!is_known && clients_.size() >= kMaxClients);
    if (!is_full) {
      Client& client = clients_[submit.client()];
      client.peer = peer;
      client.last_heard = FarmClock::now();
      for (const pb::FarmJob& job : submit.jobs()) runs_.add(submit.client(), peer, job.record());
    }
    pb::FarmMessage answer;
    answer.mutable_accepted()->set_number(submit.number());
    answer.mutable_accepted()->set_is_full(is_full);
    channel_.send(peer, answer);
  }

  void take(const std::string& peer, const pb::ClientBeat& beat) {
    if (beat.leaves()) return drop(beat.client());
    const auto found = clients_.find(beat.client());
    if (found == clients_.end()) {
      pb::FarmMessage answer;
      answer.mutable_ended()->set_has_lost_client(true);
      answer.mutable_ended()->set_client(beat.client());
      channel_.send(peer, answer);
      return;
    }
    Client& client = found->second;
    client.peer = peer;
    client.last_heard = FarmClock::now();
    for (; client.seen < beat.seen() && !client.ends.empty(); ++client.seen)
      client.ends.pop_front();
    client.sent = std::max(client.sent, client.seen);
  }

  void take(const Incoming& incoming, const pb::Piece& piece) {
    const auto digest = digest_of_field(piece.digest());
    if (digest && piece.total() > request_.max_input_bytes) {
      artifacts_.give_up(*digest);
      return runs_.refuse_input(
          *digest, make_error(ErrorCode::kLimit, "it has {} bytes, --max-frame allows {}",
                              piece.total(), request_.max_input_bytes));
    }
    artifacts_.take(incoming.peer, piece, incoming.bytes.bytes);
  }

  // ---- what is said to them

  void refuse(const std::string& peer, const Error& error) {
    channel_.send(peer, refused_message(error));
  }

  // Also those whose messages have not been taken.
  void refuse_all(const Error& error) {
    for (const auto& [id, client] : clients_) refuse(client.peer, error);
    for (size_t i = 0; i < kTakenAtOnce; ++i) {
      const auto incoming = channel_.receive();
      if (!incoming) return;
      refuse(incoming->peer, error);
    }
  }

  void report(const std::string& id, Client& client, FarmClock::time_point now) {
    const uint64_t last = client.seen + client.ends.size();
    if (client.sent > client.seen && now - client.last_sent > kFarmHeartbeat)
      client.sent = client.seen;
    if (client.sent < last) {
      pb::FarmMessage message;
      pb::Ended& ended = *message.mutable_ended();
      ended.set_client(id);
      ended.set_after(client.sent);
      *ended.add_jobs() = client.ends[client.sent - client.seen];
      client.last_sent = now;
      if (channel_.send(client.peer, message)) ++client.sent;
    }
    if (now < client.next_beat) return;
    client.next_beat = now + kFarmHeartbeat;
    pb::FarmMessage beat;
    beat.mutable_heartbeat();
    if (!channel_.send(client.peer, beat)) client.last_heard -= kFarmHeartbeat;
  }

  void drop(const std::string& id) {
    runs_.drop(id);
    clients_.erase(id);
    if (clients_.empty() && request_.store.empty()) clear_store();
  }

  // Nobody knows what is in a store of our own any more.
  void clear_store() {
    if (!store_.is_used()) return;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(store_.path(), failed))
      std::filesystem::remove_all(entry.path(), failed);
    artifacts_.forget_all();
  }

  void drop_silent(FarmClock::time_point now) {
    std::vector<std::string> silent;
    for (const auto& [id, client] : clients_)
      if (now - client.last_heard > kFarmHeartbeat * kMissedHeartbeats) silent.push_back(id);
    for (const std::string& id : silent) drop(id);
  }

  const StageWorkerRequest& request_;
  const FarmLog log_;
  Channel channel_;
  Descriptor signals_;
  Store store_;
  Artifacts artifacts_;
  std::map<std::string, Client> clients_;  // by id
  StageRuns runs_;
  FarmClock::time_point next_collection_ = FarmClock::now() + kFarmCollectPause;
  FarmClock::time_point last_turn_ = FarmClock::now();
  bool is_stopped_ = false;
};

}  // namespace

Result<int> run_stage_worker(const StageWorkerRequest& request) {
  SLUICE_ASSIGN(Descriptor signals, stop_signals());
  allow_many_files();
  std::optional<ScratchFolder> scratch;
  const std::string path = ipc_path(request.endpoint);
  if (request.store.empty() && path.empty()) {
    SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
    scratch.emplace(std::move(folder));
  }
  SLUICE_ASSIGN(Channel channel, Channel::listen(request.endpoint, request.keys));
  auto ended = StageWorker(request, scratch ? scratch->path() : request.store, std::move(channel),
                           std::move(signals))
                   .run();
  if (!path.empty()) ::unlink(path.c_str());
  return ended;
}

}  // namespace sluice
