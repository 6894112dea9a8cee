#include "common/wire/channel.h"

#include <sys/stat.h>

#include "common/wire/endpoint.h"
#include "common/wire/failure.h"
#include "common/wire/guard.h"
#include "common/wire/monitor.h"
#include "common/wire/socket.h"

namespace sluice {
namespace {

constexpr int kPeerReconnectMs = 100, kMaxPeerReconnectMs = 2000;
// Messages of one peer that wait here, or for a peer that does not read.
constexpr int kWaitingIn = 256, kWaitingOut = 4096;
constexpr int kChannelLingerMs = 500;
constexpr std::chrono::seconds kRefusedPause{2};  // until a refused side connects again
// Handshakes that broke before it is a matter of keys: the peer may be ending.
constexpr int kMaxChannelBroken = 4;
constexpr size_t kMaxChannelFrames =
    wire::kMaxFarmFrames + 1;  // with the peer; a frame more is rejected

}  // namespace

struct Channel::State {
  State(zmq::socket_type type, std::shared_ptr<zmq::context_t> shared)
      : context(std::move(shared)),
        socket(*context, type),
        is_router(type == zmq::socket_type::router) {
    wire::set_limits(socket, wire::kMaxFarmFrameBytes, kChannelLingerMs);
    socket.set(zmq::sockopt::rcvhwm, kWaitingIn);
    socket.set(zmq::sockopt::sndhwm, kWaitingOut);
    socket.set(zmq::sockopt::reconnect_ivl, kPeerReconnectMs);
    socket.set(zmq::sockopt::reconnect_ivl_max, kMaxPeerReconnectMs);
    if (is_router) socket.set(zmq::sockopt::router_mandatory, true);
  }

  void listen(const std::string& place);
  void add_items(std::vector<zmq::pollitem_t>& items);
  void turn();
  void take_events();

  std::shared_ptr<zmq::context_t> context;
  zmq::socket_t socket;
  bool is_router;
  uint64_t dropped = 0;
  std::optional<wire::Guard> guard;  // when it listens with keys

  // When it connects:
  std::optional<wire::Monitor> monitor;
  std::string place;
  bool has_keys = false;
  bool was_accepted = false;
  int broken = 0;  // handshakes until then
  std::optional<Error> key_error;
  std::optional<std::chrono::steady_clock::time_point> connects_at;  // again
};

void Channel::State::listen(const std::string& where) {
  const mode_t before = ::umask(0077);  // only its owner may use a socket file
  try {
    socket.bind(where);
  } catch (...) {
    ::umask(before);
    throw;
  }
  ::umask(before);
}

void Channel::State::add_items(std::vector<zmq::pollitem_t>& items) {
  items.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
  if (guard) guard->add_items(items);
  if (monitor) items.push_back(monitor->item());
}

void Channel::State::turn() {
  if (guard) guard->turn();
  if (monitor) take_events();
}

// The library gives a connection up when the handshake fails, unless it just broke.
void Channel::State::take_events() {
  const auto now = std::chrono::steady_clock::now();
  while (const auto event = monitor->next()) {
    was_accepted |= event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    auto error = wire::key_error_of(*event, has_keys);
    const bool just_broke = event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
    if (just_broke && (was_accepted || ++broken < kMaxChannelBroken)) continue;
    if (error) key_error = std::move(*error).within(place);
    if ((event->kind & wire::kHandshakeFailures) != 0 && !just_broke)
      connects_at = now + kRefusedPause;
  }
  if (!connects_at || now < *connects_at) return;
  connects_at.reset();
  zmq_disconnect(socket.handle(), place.c_str());  // which may have nothing left to do
  socket.connect(place);
}

Channel::Channel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Channel::Channel(Channel&&) noexcept = default;
Channel::~Channel() = default;

Result<Channel> Channel::listen(const std::string& endpoint, const ListenerKeys& keys) {
  SLUICE_ASSIGN(const std::string place, listening_endpoint(endpoint, keys));
  SLUICE_TRY(check_unused(place));
  return wire::within_zmq(fmt::format("cannot listen at '{}'", endpoint), [&]() -> Result<Channel> {
    auto state =
        std::make_unique<State>(zmq::socket_type::router, std::make_shared<zmq::context_t>());
    SLUICE_TRY(wire::guard_with(keys, *state->context, state->socket, state->guard));
    state->listen(place);
    return Channel(std::move(state));
  });
}

Result<Channel> Channel::connect(const std::string& endpoint, const ConnectorKeys& keys,
                                 const Channel* beside) {
  SLUICE_ASSIGN(const std::string place, connecting_endpoint(endpoint, keys));
  return wire::within_zmq(
      fmt::format("cannot connect to '{}'", endpoint), [&]() -> Result<Channel> {
        auto state = std::make_unique<State>(
            zmq::socket_type::dealer,
            beside != nullptr ? beside->state_->context : std::make_shared<zmq::context_t>());
        state->has_keys = !keys.key.empty();
        SLUICE_TRY(wire::use_keys(state->socket, keys));
        state->monitor.emplace(*state->context, state->socket,
                               wire::kHandshakeFailures | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        state->place = place;
        state->socket.connect(place);
        return Channel(std::move(state));
      });
}

std::string Channel::endpoint() const {
  return readable_endpoint(state_->socket.get(zmq::sockopt::last_endpoint));
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
    wire::Frames frames = wire::receive(state_->socket, kMaxChannelFrames + 1);
    if (frames.empty()) return std::nullopt;
    Incoming incoming;
    if (state_->is_router) {
      incoming.peer = wire::text_of(frames[0]);
      frames.erase(frames.begin());
    }
    if (state_->guard && !frames.empty() &&
        !is_from_allowed(incoming, state_->guard->sender(frames[0])))
      continue;
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

// Reports to a peer that its key is not allowed any more, since the connection stays.
bool Channel::is_from_allowed(Incoming& incoming, const AllowedKey* key) {
  if (key != nullptr) {
    incoming.user = key->name;
    incoming.role = key->role;
    return true;
  }
  pb::FarmMessage message;
  *message.mutable_refused() =
      failure_message(make_error(ErrorCode::kKeyRefused, "our key is not allowed there any more"));
  send(incoming.peer, message);
  return false;
}

uint64_t Channel::dropped() const { return state_->dropped; }

std::vector<RefusedPeer> Channel::take_refused() {
  return state_->guard ? state_->guard->take_refused() : std::vector<RefusedPeer>();
}

std::optional<Error> Channel::take_key_error() {
  return std::exchange(state_->key_error, std::nullopt);
}

std::vector<bool> Channel::wait(std::span<Channel* const> channels,
                                std::span<const int> descriptors, std::chrono::milliseconds time) {
  std::vector<zmq::pollitem_t> items;
  for (const int descriptor : descriptors) items.push_back({nullptr, descriptor, ZMQ_POLLIN, 0});
  for (const Channel* channel : channels) channel->state_->add_items(items);
  try {
    zmq::poll(items, time);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  for (const Channel* channel : channels) channel->state_->turn();
  std::vector<bool> readable;
  for (size_t i = 0; i < descriptors.size(); ++i)
    readable.push_back((items[i].revents & ZMQ_POLLIN) != 0);
  return readable;
}

}  // namespace sluice
