// Artifacts on their way into a store, in pieces that its owner asks peers for. What has come of an
// artifact lies in DIR/partial until it is whole and its digest fits; a transfer that was cut off
// goes on there. Pieces are taken in order: what comes out of order, or does not come, is asked for
// again.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/digest.h"
#include "common/store/store.h"
#include "common/wire/payload.h"
#include "farm.pb.h"

namespace sluice {

// Bytes of artifacts that workers get from each other. Smaller ones are not worth a connection.
inline constexpr uint64_t kMinShared = 64u << 10;
// Lies that may arrive in place of what one job waits for; then it fails.
inline constexpr int kMaxDamagedArrivals = 3;

class Artifacts {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns whether the message is on its way to the peer.
  using Ask = std::function<bool(const std::string& peer, pb::Get get)>;
  struct Arrival {
    Digest digest;
    std::string fault;       // empty: it is in the store
    bool is_absent = false;  // the peer does not have it
    bool is_unkept = false;  // our store cannot be written
    bool is_silent = false;  // the peer does not answer
    bool is_lie = false;     // the peer sent bytes that are not those of the digest
    std::string peer = {};
    uint64_t bytes = 0;  // of an artifact that came
  };
  // A holder that did not give what the peer had referred us to; the peer gives it.
  struct Failure {
    Digest digest;
    std::string holder, why;
    bool is_silent = false;  // it does not answer
    bool is_lie = false;     // it sent other bytes
  };

  using Now = std::function<Clock::time_point()>;
  Artifacts(Store& store, Ask ask, Now now = Clock::now)
      : store_(store), ask_(std::move(ask)), now_(std::move(now)) {}

  // Returns whether the store has it, as far as is known without reading it.
  bool has(const Digest& digest);
  // Says that an artifact that has() knew cannot be read.
  void forget(const Digest& digest) { present_.erase(digest); }
  // Says that some may have been deleted.
  void forget_all() { present_.clear(); }

  // Gets it from the peer, or adds the peer to those who have it.
  void want(const Digest& digest, const std::string& peer);

  void take(const std::string& peer, const pb::Piece& piece, std::span<const std::byte> bytes);
  // The peer has referred us to a holder, another name for ask: the transfer goes on there, and
  // comes back to the peer when the holder fails. Returns whether it goes there from now on.
  bool refer(const Digest& digest, const std::string& holder, uint64_t total);
  // The peer asks for patience.
  void wait(const Digest& digest);
  // Ends a transfer that nobody wants any more.
  void give_up(const Digest& digest);
  // Says that nothing comes from a holder any more.
  void give_up_holder(const std::string& holder, const std::string& why);
  // Asks again for what did not come; gives up peers that do not answer.
  void turn(Clock::time_point now);
  // Returns those that have ended since the last call.
  std::vector<Arrival> take_arrivals() { return std::exchange(arrivals_, {}); }
  std::vector<Failure> take_failures() { return std::exchange(failures_, {}); }
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t bytes_of_holders() const { return bytes_of_holders_; }

 private:
  struct Transfer {
    std::deque<std::string> peers;  // the first one is asked, or the holder that it named
    std::string holder;             // empty: none now
    std::string failed;             // the last one that did
    std::string helper;             // the last one of which bytes are in the file
    Descriptor file;
    uint64_t at = 0;     // bytes that have come
    uint64_t asked = 0;  // the end of what was asked for
    uint64_t total = 0;  // 0: not known yet
    int attempts = 0;    // at this peer, without a byte
    Clock::time_point last;

    const std::string& asks() const { return holder.empty() ? peers.front() : holder; }
  };

  void begin(const Digest& digest, Transfer& transfer);
  void ask_on(const Digest& digest, Transfer& transfer);
  void give_up_peer(const Digest& digest, Transfer& transfer, const std::string& fault,
                    bool is_absent = false);
  void give_up_holder(const Digest& digest, Transfer& transfer, Failure failure);
  bool is_refused(const Digest& digest, Transfer& transfer, const pb::Piece& piece);
  void begin_anew(const Digest& digest, Transfer& transfer);
  void finish(const Digest& digest, Transfer& transfer);
  void end(const Digest& digest, Arrival arrival);
  std::string partial(const Digest& digest) const;

  Store& store_;
  const Ask ask_;
  const Now now_;
  std::set<Digest> present_;
  std::map<Digest, Transfer> transfers_;
  std::deque<Digest> waiting_;  // transfers that have not begun
  size_t active_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<Failure> failures_;
  uint64_t received_bytes_ = 0, bytes_of_holders_ = 0;
};

struct PieceOfArtifact {
  pb::FarmMessage message;  // a Piece
  Payload bytes;
};
// Returns what a store has of an artifact. A Get of no bytes asks whether it is whole: it is
// hashed, and deleted when it is damaged.
PieceOfArtifact read_piece(const Store& store, const pb::Get& get);
// Returns the question whether the peer's artifact is whole: ours came with other bytes.
pb::FarmMessage check_question(const Digest& digest);

// Converts digests to and from fields of messages.
std::string digest_field(const Digest& digest);
std::optional<Digest> digest_of_field(std::string_view field);

}  // namespace sluice
