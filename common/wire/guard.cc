#include "common/wire/guard.h"

#include <array>

#include "common/wire/socket.h"

namespace sluice::wire {
namespace {

constexpr char kPlace[] = "inproc://zeromq.zap.01", kVersion[] = "1.0", kDomain[] = "sluice";
constexpr size_t kCurveKeyBytes = 32;
// The frames of a question: who asks, nothing, version, id, domain, address, routing id, mechanism,
// and the key.
constexpr size_t kVersionFrame = 2, kIdFrame = 3, kAddressFrame = 5, kMechanismFrame = 7,
                 kKeyFrame = 8, kFrames = 9;

std::string key_text(const zmq::message_t& frame) {
  std::array<char, kCurveKeyBytes * 5 / 4 + 1> text{};
  zmq_z85_encode(text.data(), static_cast<const uint8_t*>(frame.data()), frame.size());
  return text.data();
}

std::string property(zmq::message_t& frame, const char* name) {
  const char* text = zmq_msg_gets(frame.handle(), name);
  return text == nullptr ? "" : text;
}

// IPv4 addresses come to a socket of both kinds in the form of IPv6.
std::string address_text(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  return std::string(address.substr(address.starts_with(kMapped) ? kMapped.size() : 0));
}

std::string failure_text(const Monitor::Event& event) {
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) return "it left before it showed a key";
  return event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
             ? "it has no key"
             : "it does not have our public key, or speaks another protocol";
}

}  // namespace

Guard::Guard(zmq::context_t& context, zmq::socket_t& socket, const KeyPair& own,
             AllowedKeys allowed)
    : allowed_(std::move(allowed)),
      questions_(context, zmq::socket_type::router),
      monitor_(context, socket,
               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
  questions_.set(zmq::sockopt::linger, 0);
  questions_.bind(kPlace);  // without it nobody would be asked about keys
  make_space_for_encryption(socket);
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  socket.set(zmq::sockopt::zap_domain, std::string(kDomain));
}

void Guard::add_items(std::vector<zmq::pollitem_t>& items) {
  items.push_back({questions_.handle(), 0, ZMQ_POLLIN, 0});
  items.push_back(monitor_.item());
}

void Guard::turn() {
  for (Frames frames = receive(questions_, kFrames + 1); !frames.empty();
       frames = receive(questions_, kFrames + 1))
    answer(std::move(frames));
  while (const auto event = monitor_.next()) refused_.add({{}, {}, failure_text(*event)});
}

// A question in another form gets no answer, and so nobody comes in by it.
void Guard::answer(Frames request) {
  if (request.size() != kFrames || text_of(request[kVersionFrame]) != kVersion ||
      text_of(request[kMechanismFrame]) != "CURVE" || request[kKeyFrame].size() != kCurveKeyBytes)
    return;
  const std::string key = key_text(request[kKeyFrame]);
  allowed_.refresh();
  const bool is_allowed = allowed_.find(key) != nullptr;
  if (is_allowed) {
    refused_.forget(key);
  } else {
    refused_.add({key, address_text(text_of(request[kAddressFrame])), "its key is not allowed"});
  }
  Frames reply;
  reply.push_back(std::move(request[0]));
  for (const std::string_view text :
       {std::string_view(), std::string_view(kVersion), text_of(request[kIdFrame]),
        std::string_view(is_allowed ? "200" : "400"), std::string_view(is_allowed ? "OK" : "No"),
        is_allowed ? std::string_view(key) : std::string_view(), std::string_view()})
    reply.push_back(frame_of(text));
  send(questions_, std::move(reply));
}

const AllowedKey* Guard::sender(zmq::message_t& frame) {
  const std::string key = property(frame, "User-Id");  // as we answered
  allowed_.refresh_if_old();
  const AllowedKey* found = allowed_.find(key);
  if (found == nullptr)
    refused_.add(
        {key, address_text(property(frame, "Peer-Address")), "its key is not allowed any more"});
  return found;
}

Result<void> guard_with(const ListenerKeys& keys, zmq::context_t& context, zmq::socket_t& socket,
                        std::optional<Guard>& guard) {
  if (keys.key.empty()) return {};
  SLUICE_ASSIGN(const KeyPair own, read_key_pair(keys.key));
  SLUICE_ASSIGN(AllowedKeys allowed, AllowedKeys::open(keys.allowed));
  guard.emplace(context, socket, own, std::move(allowed));
  return {};
}

}  // namespace sluice::wire
