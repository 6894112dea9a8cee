#include "common/wire/service.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>

#include "common/base/memory.h"
#include "common/base/stop_signals.h"
#include "common/wire/endpoint.h"
#include "common/wire/guard.h"
#include "common/wire/messages.h"
#include "common/wire/socket.h"

namespace sluice {
namespace {

using ServiceClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using wire::Frames;

// With the client; a frame more is rejected.
constexpr size_t kMaxFrames = 1 + wire::kMaxRequestFrames;
constexpr size_t kMaxAtOnce = 16;          // requests taken before the jobs are checked again
constexpr size_t kMaxWaiting = 64;         // jobs
constexpr uint64_t kMaxWaitingFrames = 4;  // their graphs, in frames of the maximum size
constexpr uint32_t kShortestHeartbeatMs = 10, kLongestHeartbeatMs = 60000;
constexpr int kLingerMs = 1000;  // for the last answers when the service ends

// A job that arrived, waits or runs.
struct Entry {
  std::string client, id;
  pb::Job job;
  Payload graph;
  std::optional<wire::JobProcess> process;
  ServiceClock::time_point next_beat = ServiceClock::now();
  milliseconds heartbeat{kHeartbeatMs};
  bool done = false;
  ServiceClock::time_point started = ServiceClock::now();  // its process
};

class Service {
 public:
  Service(const ServiceOptions& options, const wire::JobBody& body, Descriptor signals)
      : options_(options),
        body_(body),
        signals_(std::move(signals)),
        socket_(context_, zmq::socket_type::router) {}

  Result<void> run(const std::string& endpoint) {
    wire::set_limits(socket_, options_.max_frame, kLingerMs);
    socket_.set(zmq::sockopt::router_mandatory, true);
    SLUICE_TRY(wire::guard_with(options_.keys, context_, socket_, guard_));
    SLUICE_TRY(listen(endpoint));
    options_.ready(readable_endpoint(socket_.get(zmq::sockopt::last_endpoint)));
    while (!stopped_) turn();
    for (Entry& entry : entries_) {
      if (entry.process) wire::kill_job(*entry.process);
      answer(entry,
             wire::failed_result(make_error(ErrorCode::kStageKilled, "the service was ended")), {});
    }
    if (const std::string path = ipc_path(endpoint); !path.empty()) ::unlink(path.c_str());
    return {};
  }

 private:
  Result<void> listen(const std::string& endpoint) {
    SLUICE_TRY(check_unused(endpoint));
    const mode_t before = ::umask(0077);  // only its owner may use a socket file
    auto bound =
        wire::within_zmq(fmt::format("cannot listen at '{}'", endpoint),
                         [&]() -> Result<void> { return socket_.bind(endpoint), Result<void>(); });
    ::umask(before);
    return bound;
  }

  void turn() {
    std::vector<zmq::pollitem_t> items = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                          {nullptr, signals_.get(), ZMQ_POLLIN, 0}};
    for (const Entry& entry : entries_) {
      if (entry.process) items.push_back({nullptr, entry.process->handle.get(), ZMQ_POLLIN, 0});
    }
    if (guard_) guard_->add_items(items);
    wait(items);
    signalfd_siginfo signal{};
    stopped_ = ::read(signals_.get(), &signal, sizeof(signal)) > 0;
    size_t item = 2;  // of the entries as they were polled; new ones come after them
    for (Entry& entry : entries_) {
      if (entry.process && (items[item++].revents & ZMQ_POLLIN) != 0) finish(entry);
    }
    if (guard_) guard_->turn();
    take_requests();
    if (guard_)
      for (const RefusedPeer& peer : guard_->take_refused()) options_.refused(peer);
    std::erase_if(entries_, [](const Entry& entry) { return entry.done; });
    start_waiting();
    beat();
    std::erase_if(entries_, [](const Entry& entry) { return entry.done; });
  }

  void wait(std::vector<zmq::pollitem_t>& items) const {
    ServiceClock::time_point next = ServiceClock::time_point::max();
    for (const Entry& entry : entries_) next = std::min(next, entry.next_beat);
    const bool forever = entries_.empty();
    const auto left = forever
                          ? milliseconds(-1)
                          : std::max(milliseconds(0),
                                     std::chrono::ceil<milliseconds>(next - ServiceClock::now()));
    try {
      zmq::poll(items, left);
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }

  // Takes a few requests at a time, so that a flood does not delay the heartbeats of others.
  void take_requests() {
    for (size_t i = 0; i < kMaxAtOnce; ++i) {
      Frames frames = wire::receive(socket_, kMaxFrames + 1);
      if (frames.empty()) return;
      if (guard_ && guard_->sender(frames.back()) == nullptr) continue;
      take_within_memory(std::move(frames));
    }
  }

  void take_within_memory(Frames frames) {
    const std::string client(wire::text_of(frames[0]));
    frames.erase(frames.begin());
    std::string id;
    Result<void> taken = within_memory([&] {
      std::vector<Payload> request = wire::payloads_of(std::move(frames));
      id = wire::job_id_of(request);
      return take(client, id, std::move(request));
    });
    if (!taken) answer(client, id, wire::failed_result(taken.error()), {});
  }

  Result<void> take(const std::string& client, const std::string& id, std::vector<Payload> frames) {
    SLUICE_ASSIGN(wire::Request request, wire::parse_request(std::move(frames)));
    Entry entry{.client = client,
                .id = id,
                .job = std::move(request.job),
                .graph = std::move(request.graph)};
    SLUICE_TRY(check_capacity(entry));
    if (entry.job.heartbeat_ms() != 0) {
      entry.heartbeat = milliseconds(
          std::clamp(entry.job.heartbeat_ms(), kShortestHeartbeatMs, kLongestHeartbeatMs));
    }
    entries_.push_back(std::move(entry));
    return {};
  }

  Result<void> check_capacity(const Entry& more) const {
    uint64_t bytes = more.graph.bytes.size();
    size_t waiting = 1;
    for (const Entry& entry : entries_) {
      if (entry.process || entry.done) continue;
      ++waiting;
      bytes += entry.graph.bytes.size();
    }
    const bool fits =
        waiting <= kMaxWaiting && (waiting == 1 || bytes / kMaxWaitingFrames <= options_.max_frame);
    return fits ? Result<void>()
                : make_error(ErrorCode::kLimit, "the service has {} jobs waiting, at most {}",
                             waiting - 1, kMaxWaiting)
                      .with_hint("try again later");
  }

  void start_waiting() {
    size_t running = std::count_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.process.has_value(); });
    for (Entry& entry : entries_) {
      if (running >= options_.jobs) return;
      if (entry.process || entry.done) continue;
      Result<wire::JobProcess> started = wire::start_job(entry.job, entry.graph, body_);
      entry.graph = {};
      if (started) {
        entry.process = std::move(started).value();
        entry.started = ServiceClock::now();
        ++running;
      } else {
        answer(entry, wire::failed_result(started.error()), {});
      }
    }
  }

  bool is_over(const Entry& entry) const {
    return entry.process && options_.max_seconds > 0 &&
           ServiceClock::now() - entry.started > std::chrono::seconds(options_.max_seconds);
  }

  Error clock_error() const {
    return make_error(ErrorCode::kLimit, "the job has not ended after {} seconds",
                      options_.max_seconds)
        .with_hint("start the service with a larger --sandbox-seconds, of which it is a multiple");
  }

  void beat() {
    for (Entry& entry : entries_) {
      if (entry.done || entry.next_beat > ServiceClock::now()) continue;
      if (is_over(entry)) {
        wire::kill_job(*entry.process);
        answer(entry, wire::failed_result(clock_error()), {});
        continue;
      }
      entry.next_beat = ServiceClock::now() + entry.heartbeat;
      pb::Reply reply;
      reply.mutable_heartbeat();
      if (send(entry.client, entry.id, reply, {}) != wire::Sent::kGone) continue;
      if (entry.process) wire::kill_job(*entry.process);  // no client waits for it any more
      entry.done = true;
    }
  }

  void finish(Entry& entry) {
    wire::JobEnd end = wire::end_job(std::move(*entry.process), options_.max_frame);
    if (!end.handed_over.bytes.empty()) options_.keep(end.handed_over.bytes);
    const bool has_output = end.result.exit_code() == 0 && !wire::is_kept(end.result);
    answer(entry, end.result, has_output ? std::optional(std::move(end.output)) : std::nullopt);
  }

  void answer(Entry& entry, const pb::Result& result, std::optional<Payload> output) {
    entry.done = true;
    entry.process.reset();
    answer(entry.client, entry.id, result, std::move(output));
  }

  // A client that has gone, or does not read, gets no answer.
  void answer(const std::string& client, const std::string& id, const pb::Result& result,
              std::optional<Payload> output) {
    pb::Reply reply;
    *reply.mutable_result() = result;
    send(client, id, reply, std::move(output));
  }

  wire::Sent send(const std::string& client, const std::string& id, const pb::Reply& reply,
                  std::optional<Payload> output) {
    Frames frames;
    frames.push_back(wire::frame_of(client));
    frames.push_back(wire::frame_of(id));
    frames.push_back(wire::frame_of(reply.SerializeAsString()));
    if (output) frames.push_back(wire::frame_of(std::move(*output)));
    return wire::send(socket_, std::move(frames));
  }

  const ServiceOptions& options_;
  const wire::JobBody& body_;
  Descriptor signals_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  std::optional<wire::Guard> guard_;  // when there are keys
  std::deque<Entry> entries_;         // in the order of arrival
  bool stopped_ = false;
};

}  // namespace

Result<void> serve(const ServiceOptions& options, const wire::JobBody& body) {
  SLUICE_ASSIGN(const std::string endpoint, listening_endpoint(options.endpoint, options.keys));
  SLUICE_ASSIGN(Descriptor signals, stop_signals());
  allow_many_files();
  return wire::within_zmq(options.endpoint,
                          [&] { return Service(options, body, std::move(signals)).run(endpoint); });
}

}  // namespace sluice
