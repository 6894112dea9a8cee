#include "common/wire/channel.h"

#include <sys/stat.h>

#include "common/wire/endpoint.h"
#include "common/wire/socket.h"

namespace sluice {
namespace {

constexpr int kReconnectMs = 100, kMaxReconnectMs = 2000;
// Messages of one peer that wait here, or for a peer that does not read.
constexpr int kWaitingIn = 256, kWaitingOut = 4096;
constexpr int kLingerMs = 500;
constexpr size_t kMaxFrames = wire::kMaxFarmFrames + 1;  // with the peer; a frame more is rejected

}  // namespace

struct Channel::State {
  State(zmq::socket_type type)
      : socket(context, type), is_router(type == zmq::socket_type::router) {
    wire::set_limits(socket, wire::kMaxFarmFrameBytes, kLingerMs);
    socket.set(zmq::sockopt::rcvhwm, kWaitingIn);
    socket.set(zmq::sockopt::sndhwm, kWaitingOut);
    socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
    socket.set(zmq::sockopt::reconnect_ivl_max, kMaxReconnectMs);
    if (is_router) socket.set(zmq::sockopt::router_mandatory, true);
  }
  zmq::context_t context;
  zmq::socket_t socket;
  bool is_router;
  uint64_t dropped = 0;
};

Channel::Channel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Channel::Channel(Channel&&) noexcept = default;
Channel::~Channel() = default;

Result<Channel> Channel::listen(const std::string& endpoint) {
  SLUICE_ASSIGN(const std::string place, parse_endpoint(endpoint));
  SLUICE_TRY(check_unused(place));
  return wire::within_zmq(fmt::format("cannot listen at '{}'", endpoint), [&]() -> Result<Channel> {
    auto state = std::make_unique<State>(zmq::socket_type::router);
    const mode_t before = ::umask(0077);  // only its owner may use a socket file
    try {
      state->socket.bind(place);
    } catch (...) {
      ::umask(before);
      throw;
    }
    ::umask(before);
    return Channel(std::move(state));
  });
}

Result<Channel> Channel::connect(const std::string& endpoint) {
  SLUICE_ASSIGN(const std::string place, parse_endpoint(endpoint));
  return wire::within_zmq(fmt::format("cannot connect to '{}'", endpoint),
                          [&]() -> Result<Channel> {
                            auto state = std::make_unique<State>(zmq::socket_type::dealer);
                            state->socket.connect(place);
                            return Channel(std::move(state));
                          });
}

std::string Channel::endpoint() const {
  return parse_endpoint(state_->socket.get(zmq::sockopt::last_endpoint)).value();
}

bool Channel::send(const std::string& peer, const pb::FarmMessage& message, Payload bytes) {
  const std::string text = message.SerializeAsString();
  wire::Frames frames;
  if (state_->is_router) frames.push_back(wire::frame_of(peer));
  frames.push_back(wire::frame_of(wire::checksum_of(text, bytes.bytes)));
  frames.push_back(wire::frame_of(text));
  if (!bytes.bytes.empty()) frames.push_back(wire::frame_of(std::move(bytes)));
  return wire::send(state_->socket, std::move(frames)) == wire::Sent::kDone;
}

std::optional<Incoming> Channel::receive() {
  while (true) {
    wire::Frames frames = wire::receive(state_->socket, kMaxFrames + 1);
    if (frames.empty()) return std::nullopt;
    Incoming incoming;
    if (state_->is_router) {
      incoming.peer = wire::text_of(frames[0]);
      frames.erase(frames.begin());
    }
    auto parsed = wire::parse_farm_frames(wire::payloads_of(std::move(frames)));
    if (!parsed) {
      ++state_->dropped;
      continue;
    }
    incoming.message = std::move(parsed->message);
    incoming.bytes = std::move(parsed->bytes);
    return incoming;
  }
}

uint64_t Channel::dropped() const { return state_->dropped; }

std::vector<bool> Channel::wait(std::span<const int> descriptors, std::chrono::milliseconds time) {
  std::vector<zmq::pollitem_t> items = {{state_->socket.handle(), 0, ZMQ_POLLIN, 0}};
  for (const int descriptor : descriptors) items.push_back({nullptr, descriptor, ZMQ_POLLIN, 0});
  try {
    zmq::poll(items, time);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  std::vector<bool> readable;
  for (size_t i = 1; i < items.size(); ++i)
    readable.push_back((items[i].revents & ZMQ_POLLIN) != 0);
  return readable;
}

}  // namespace sluice
