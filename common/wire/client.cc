#include "common/wire/client.h"

#include <algorithm>
#include <chrono>

#include "common/wire/endpoint.h"
#include "common/wire/messages.h"
#include "common/wire/monitor.h"
#include "common/wire/socket.h"

namespace sluice {
namespace {

using ClientClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using wire::Frames;

constexpr int kReconnectMs = 10;  // a service that was just started listens soon
constexpr int kMaxWaitMs = 1000;  // between two calls of `interrupted`
// Heartbeats that may come early before they count as a flood.
constexpr int64_t kSpareMessages = 50;
constexpr int kMaxBroken = 5;             // handshakes
constexpr std::string_view kJobId = "1";  // each job has a separate connection

class Client {
 public:
  Client(std::string endpoint, const pb::Job& job, const ClientOptions& options)
      : endpoint_(std::move(endpoint)),
        stage_(job.stage()),
        options_(options),
        heartbeat_(job.heartbeat_ms() != 0 ? job.heartbeat_ms() : kHeartbeatMs),
        socket_(context_, zmq::socket_type::dealer),
        monitor_(
            context_, socket_,
            ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | wire::kHandshakeFailures) {}

  Result<JobReply> run(const pb::Job& job, Payload graph) {
    if (graph.bytes.size() > options_.max_frame) {
      return make_error(ErrorCode::kLimit, "the graph has {} bytes, a frame at most {}",
                        graph.bytes.size(), options_.max_frame)
          .with_hint("--transport pipe and files have no such limit");
    }
    SLUICE_TRY(connect());
    Frames request;
    request.push_back(wire::frame_of(kJobId));
    request.push_back(wire::frame_of(job.SerializeAsString()));
    if (job.input().empty()) request.push_back(wire::frame_of(std::move(graph)));
    wire::send(socket_, std::move(request));
    return wait();
  }

 private:
  Result<void> connect() {
    wire::set_limits(socket_, options_.max_frame, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
    SLUICE_TRY(wire::use_keys(socket_, options_.keys));
    socket_.connect(endpoint_);
    deadline_ = ClientClock::now() + patience();
    return {};
  }

  milliseconds patience() const { return heartbeat_ * kMissedHeartbeats; }

  Result<JobReply> wait() {
    std::vector<zmq::pollitem_t> items = {{socket_.handle(), 0, ZMQ_POLLIN, 0}, monitor_.item()};
    while (true) {
      if (options_.interrupted()) return make_error(ErrorCode::kIo, "interrupted");
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - ClientClock::now());
      if (left.count() <= 0) return silent();
      poll(items, std::min<int64_t>(left.count(), kMaxWaitMs));
      const auto broken = take_events();
      for (Frames frames = wire::receive(socket_, wire::kMaxAnswerFrames + 1); !frames.empty();
           frames = wire::receive(socket_, wire::kMaxAnswerFrames + 1)) {
        JobReply reply;
        SLUICE_ASSIGN(const bool is_result, take(std::move(frames), reply));
        if (is_result) return reply;
      }
      if (broken) return break_error(*broken);
    }
  }

  // Returns the event that ends the connection. Handshakes that just broke are tried again a few
  // times, for another one may say why.
  std::optional<wire::Monitor::Event> take_events() {
    while (const auto event = monitor_.next()) {
      if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        is_connected_ = true;
        continue;
      }
      const bool just_broke = event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
      // The failure itself is reported.
      if (!is_connected_ && event->kind == ZMQ_EVENT_DISCONNECTED) continue;
      if (is_connected_ || !just_broke || ++broken_ == kMaxBroken) return event;
    }
    return std::nullopt;
  }

  Error break_error(const wire::Monitor::Event& event) const {
    const bool has_keys = !options_.keys.key.empty();
    if (auto key_error = wire::key_error_of(event, has_keys))
      return std::move(*key_error).within(name());
    return make_error(ErrorCode::kPeerLost, "{}: the connection broke before there was a result",
                      name())
        .with_hint("the service died, or a frame exceeded its --max-frame");
  }

  static void poll(std::vector<zmq::pollitem_t>& items, int64_t ms) {
    try {
      zmq::poll(items, milliseconds(ms));
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }

  // Returns true when the frames are the Result, false for a heartbeat.
  Result<bool> take(Frames frames, JobReply& reply) {
    auto answer = wire::parse_answer(wire::payloads_of(std::move(frames)), kJobId);
    if (!answer) return std::move(answer).error().within(name());
    heard_ = true;
    deadline_ = ClientClock::now() + patience();
    if (answer->reply.has_heartbeat()) {
      const int64_t due = (ClientClock::now() - begun_) / heartbeat_;
      if (++heartbeats_ > 2 * due + kSpareMessages) return flood();
      return false;
    }
    reply.result = std::move(*answer->reply.mutable_result());
    reply.output = std::move(answer->output);
    return true;
  }

  Error flood() const {
    return make_error(ErrorCode::kBadReply, "{}: it floods us with heartbeats", name());
  }

  Error silent() const {
    const double seconds = std::chrono::duration<double>(patience()).count();
    if (!heard_)
      return make_error(ErrorCode::kPeerLost, "{}: no answer within {:g} s", name(), seconds);
    return make_error(ErrorCode::kPeerLost, "{}: no sign of life for {:g} s", name(), seconds)
        .with_hint("the service is stopped, or its machine overloaded");
  }

  std::string name() const { return fmt::format("sluice-{} at {}", stage_, endpoint_); }

  std::string endpoint_, stage_;
  const ClientOptions& options_;
  milliseconds heartbeat_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  wire::Monitor monitor_;
  ClientClock::time_point begun_ = ClientClock::now(), deadline_;
  bool heard_ = false, is_connected_ = false;
  int broken_ = 0;  // before it was connected
  int64_t heartbeats_ = 0;
};

}  // namespace

Result<JobReply> run_job(const std::string& endpoint, const pb::Job& job, Payload graph,
                         const ClientOptions& options) {
  SLUICE_ASSIGN(const std::string place, connecting_endpoint(endpoint, options.keys));
  return wire::within_zmq(endpoint, [&]() -> Result<JobReply> {
    return Client(place, job, options).run(job, std::move(graph));
  });
}

}  // namespace sluice
