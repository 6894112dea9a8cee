// A proxy between a dispatcher and its peers that loses, doubles, delays and cuts messages.
//
//   fault_proxy LISTEN_ENDPOINT DISPATCHER_ENDPOINT PERCENT SEED
//
// Each peer gets a connection of its own to the dispatcher. PERCENT of the messages of both
// directions have a fault, each kind as often as the others. Prints the counts at SIGTERM.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "common/wire/socket.h"

namespace {

using namespace sluice;
using Clock = std::chrono::steady_clock;
using wire::Frames;

volatile std::sig_atomic_t stopped = 0;

constexpr int kMaxDelayMs = 300;
constexpr uint64_t kMaxFrame = 8u << 20;
constexpr size_t kMaxFrames = 8;

struct Counts {
  uint64_t messages = 0, dropped = 0, doubled = 0, delayed = 0, cut = 0;
};

class FaultProxy {
 public:
  FaultProxy(const char* listen, std::string dispatcher, double percent, unsigned seed)
      : dispatcher_(std::move(dispatcher)),
        share_(percent / 100),
        random_(seed),
        front_(context_, zmq::socket_type::router) {
    wire::set_limits(front_, kMaxFrame, 0);
    front_.set(zmq::sockopt::rcvhwm, 0);
    front_.set(zmq::sockopt::sndhwm, 0);
    front_.bind(listen);
  }

  void run() {
    while (stopped == 0) turn();
    std::printf("%lu messages, %lu dropped, %lu doubled, %lu delayed, %lu cut\n", counts_.messages,
                counts_.dropped, counts_.doubled, counts_.delayed, counts_.cut);
  }

 private:
  struct Sending {
    std::string peer;
    bool to_dispatcher;
    Frames frames;
  };

  void turn() {
    std::vector<zmq::pollitem_t> items = {{front_.handle(), 0, ZMQ_POLLIN, 0}};
    std::vector<std::string> peers;
    for (auto& [peer, back] : backs_) {
      items.push_back({back->handle(), 0, ZMQ_POLLIN, 0});
      peers.push_back(peer);
    }
    try {
      zmq::poll(items, std::chrono::milliseconds(delayed_.empty() ? 200 : 5));
    } catch (const zmq::error_t&) {
      return;  // a signal
    }
    for (Frames frames = wire::receive(front_, kMaxFrames); !frames.empty();
         frames = wire::receive(front_, kMaxFrames)) {
      const std::string peer(wire::text_of(frames[0]));
      frames.erase(frames.begin());
      handle({peer, true, std::move(frames)});
    }
    for (size_t i = 0; i < peers.size(); ++i) {
      if ((items[i + 1].revents & ZMQ_POLLIN) == 0) continue;
      for (Frames frames = wire::receive(*backs_[peers[i]], kMaxFrames); !frames.empty();
           frames = wire::receive(*backs_[peers[i]], kMaxFrames))
        handle({peers[i], false, std::move(frames)});
    }
    const auto now = Clock::now();
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
      send(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
  }

  static Frames copy_of(const Frames& frames) {
    Frames copy;
    for (const zmq::message_t& frame : frames) copy.push_back(wire::frame_of(wire::text_of(frame)));
    return copy;
  }

  void handle(Sending message) {
    ++counts_.messages;
    if (std::uniform_real_distribution<>(0, 1)(random_) >= share_) return send(std::move(message));
    switch (random_() % 4) {
      case 0:
        ++counts_.dropped;
        return;
      case 1:
        ++counts_.doubled;
        send({message.peer, message.to_dispatcher, copy_of(message.frames)});
        return send(std::move(message));
      case 2:
        ++counts_.delayed;
        delayed_.emplace(Clock::now() + std::chrono::milliseconds(random_() % kMaxDelayMs),
                         std::move(message));
        return;
      default:
        ++counts_.cut;
        return send(cut(std::move(message)));
    }
  }

  Sending cut(Sending message) {
    zmq::message_t& frame = message.frames[random_() % message.frames.size()];
    const size_t size = frame.size() == 0 ? 0 : random_() % frame.size();
    frame = wire::frame_of(std::string(wire::text_of(frame).substr(0, size)));
    return message;
  }

  void send(Sending message) {
    if (!message.to_dispatcher) {
      message.frames.insert(message.frames.begin(), wire::frame_of(message.peer));
      wire::send(front_, std::move(message.frames));
      return;
    }
    auto& back = backs_[message.peer];
    if (!back) {
      back = std::make_unique<zmq::socket_t>(context_, zmq::socket_type::dealer);
      wire::set_limits(*back, kMaxFrame, 0);
      back->set(zmq::sockopt::reconnect_ivl, 50);
      back->connect(dispatcher_);
    }
    wire::send(*back, std::move(message.frames));
  }

  zmq::context_t context_;
  const std::string dispatcher_;
  const double share_;
  std::mt19937 random_;
  zmq::socket_t front_;
  std::map<std::string, std::unique_ptr<zmq::socket_t>> backs_;
  std::multimap<Clock::time_point, Sending> delayed_;
  Counts counts_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || !sluice::wire::load_zmq()) {
    std::fprintf(stderr, "usage: fault_proxy LISTEN DISPATCHER PERCENT SEED\n");
    return 2;
  }
  std::signal(SIGTERM, [](int) { stopped = 1; });
  FaultProxy(argv[1], argv[2], std::atof(argv[3]), static_cast<unsigned>(std::atoi(argv[4]))).run();
  return 0;
}
