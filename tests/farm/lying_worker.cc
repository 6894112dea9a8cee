// A worker that says that it has made what it has not.
//
//   lying_worker ENDPOINT LIE [STAGE BUILD]...
//
// LIE is bytes: the product has another digest than it says; or model: the product is no compiled
// model. The builds are those of the programs that jobs want.
#include <chrono>
#include <cstdio>
#include <string>

#include "common/base/digest.h"
#include "common/graphfile/header.h"
#include "common/store/record.h"
#include "common/wire/channel.h"

namespace {

using namespace sluice;
using LyingClock = std::chrono::steady_clock;

constexpr std::string_view kBytes = "these are the bytes of no model";

std::string digest_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

class LyingWorker {
 public:
  LyingWorker(Channel channel, std::string lie, pb::WorkerBeat beat)
      : channel_(std::move(channel)), lie_(std::move(lie)), beat_(std::move(beat)) {}

  void run() {
    for (auto next_beat = LyingClock::now();;) {
      channel_.wait({}, std::chrono::milliseconds(100));
      while (const auto incoming = channel_.receive()) take(incoming->message);
      if (LyingClock::now() < next_beat) continue;
      next_beat += std::chrono::seconds(1);
      beat_.set_number(beat_.number() + 1);
      pb::FarmMessage message;
      *message.mutable_worker_beat() = beat_;
      channel_.send(message);
    }
  }

 private:
  void take(const pb::FarmMessage& message) {
    for (const pb::Lease& lease : message.assign().leases()) finish(lease);
    if (message.has_get()) send(message.get());
  }

  void finish(const pb::Lease& lease) {
    auto record = parse_record(lease.record());
    const Digest key = record->key();
    record->results = {};
    record->results.add("output", sha256(lie_ == "bytes" ? std::string_view("others") : kBytes));
    pb::FarmMessage message;
    pb::Done& done = *message.mutable_done();
    done.set_lease(lease.lease());
    done.set_worker(beat_.worker());
    done.mutable_end()->set_key(digest_bytes(key));
    done.mutable_end()->set_record(record_text(*record));
    channel_.send(message);
  }

  void send(const pb::Get& get) {
    pb::FarmMessage message;
    message.mutable_piece()->set_digest(get.digest());
    message.mutable_piece()->set_offset(get.offset());
    message.mutable_piece()->set_total(kBytes.size());
    channel_.send(message, {std::as_bytes(std::span(kBytes)), nullptr});
  }

  Channel channel_;
  const std::string lie_;
  pb::WorkerBeat beat_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: lying_worker ENDPOINT LIE [STAGE BUILD]...\n");
    return 2;
  }
  pb::WorkerBeat beat;
  beat.set_worker("a worker of lies");
  beat.set_name("liar");
  beat.set_slots(1);
  beat.set_release(version_text());
  for (int i = 3; i + 1 < argc; i += 2) beat.add_builds(fmt::format("{} {}", argv[i], argv[i + 1]));
  auto channel = Channel::connect(argv[1], {});
  if (!channel) return 5;
  LyingWorker(std::move(channel).value(), argv[2], beat).run();
}
