// Many workers and a client in one process, which do nothing but speak: the load on a dispatcher.
//
//   farm_load ENDPOINT WORKERS JOBS [SECONDS]
//
// The workers answer each job at once with a product that the dispatcher has. With no jobs they
// stay connected for SECONDS. Prints a line of JSON: seconds, the dispatcher's processor time, and
// how many workers it has at the end.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "common/base/digest.h"
#include "common/base/json.h"
#include "common/graphfile/header.h"
#include "common/store/record.h"
#include "common/wire/channel.h"

namespace {

using namespace sluice;
using LoadClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kArtifact = "an input, and a product";
constexpr char kBuild[] = "none";
constexpr size_t kJobsOfMessage = 500, kMessagesAtOnce = 4;
constexpr milliseconds kHeartbeat{1000};

std::string field(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::string id_of(const std::string& kind, size_t number) {
  return fmt::format("{:>6}{:0>10}", kind, number + 1000 * static_cast<size_t>(::getpid()));
}

Record record_of(size_t job) {
  Record record{"kernel", {}, {}};
  record.fields.add("build", kBuild);
  record.fields.add("specification", sha256(fmt::format("job {} of {}", job, ::getpid())));
  record.results.add("graph", sha256(kArtifact));
  return record;
}

class IdleWorker {
 public:
  IdleWorker(const std::string& endpoint, size_t number)
      : channel_(Channel::connect(endpoint, {}).value()), id_(id_of("worker", number)) {}

  // Returns whether a message came.
  bool turn() {
    bool has_worked = false;
    while (const auto incoming = channel_.receive()) {
      has_worked = true;
      for (const pb::Lease& lease : incoming->message.assign().leases()) finish(lease);
    }
    if (LoadClock::now() >= next_beat_) beat();
    return has_worked;
  }

 private:
  void finish(const pb::Lease& lease) {
    auto record = parse_record(lease.record());
    record->results = {};
    record->results.add("object", sha256(kArtifact));
    pb::FarmMessage message;
    pb::Done& done = *message.mutable_done();
    done.set_lease(lease.lease());
    done.set_worker(id_);
    done.mutable_end()->set_key(field(record->key()));
    done.mutable_end()->set_record(record_text(*record));
    channel_.send(message);
  }

  void beat() {
    next_beat_ = LoadClock::now() + kHeartbeat;
    pb::FarmMessage message;
    pb::WorkerBeat& beat = *message.mutable_worker_beat();
    beat.set_worker(id_);
    beat.set_name(id_);
    beat.set_slots(4);
    beat.set_release(version_text());
    beat.add_builds(fmt::format("subgraph-optimize {}", kBuild));
    beat.set_number(++number_);
    channel_.send(message);
  }

  Channel channel_;
  const std::string id_;
  uint64_t number_ = 0;
  LoadClock::time_point next_beat_{};
};

class BusyClient {
 public:
  BusyClient(const std::string& endpoint, size_t jobs)
      : channel_(Channel::connect(endpoint, {}).value()), id_(id_of("client", 0)), jobs_(jobs) {}

  bool is_done() const { return seen_ == jobs_; }

  bool turn() {
    bool has_worked = false;
    while (const auto incoming = channel_.receive()) {
      has_worked = true;
      take(*incoming);
    }
    while (submitted_ < jobs_ && waiting_ < kMessagesAtOnce) submit();
    if (has_worked || LoadClock::now() >= next_beat_) beat();
    return has_worked;
  }

  // Returns the dispatcher's status.
  Json status() {
    pb::FarmMessage question;
    question.mutable_ask_status();
    channel_.send(question);
    while (true) {
      channel_.wait({}, kHeartbeat);
      while (const auto incoming = channel_.receive())
        if (incoming->message.has_status())
          return json_parse(incoming->message.status().json()).value();
    }
  }

 private:
  void take(const Incoming& incoming) {
    const pb::FarmMessage& message = incoming.message;
    if (message.has_accepted()) --waiting_;
    if (message.has_ended() && message.ended().after() == seen_)
      seen_ += static_cast<size_t>(message.ended().jobs_size());
    if (!message.has_get()) return;
    pb::FarmMessage answer;
    answer.mutable_piece()->set_digest(message.get().digest());
    answer.mutable_piece()->set_total(kArtifact.size());
    channel_.send(answer, {std::as_bytes(std::span(kArtifact)), nullptr});
  }

  void submit() {
    ++waiting_;
    pb::FarmMessage message;
    pb::Submit& submit = *message.mutable_submit();
    submit.set_client(id_);
    submit.set_owner("load");
    submit.set_number(++number_);
    submit.set_release(version_text());
    for (size_t i = 0; i < kJobsOfMessage && submitted_ < jobs_; ++i)
      submit.add_jobs()->set_record(record_text(record_of(submitted_++)));
    channel_.send(message);
  }

  void beat() {
    next_beat_ = LoadClock::now() + kHeartbeat;
    pb::FarmMessage message;
    message.mutable_client_beat()->set_client(id_);
    message.mutable_client_beat()->set_seen(seen_);
    channel_.send(message);
  }

  Channel channel_;
  const std::string id_;
  const size_t jobs_;
  size_t submitted_ = 0, seen_ = 0, waiting_ = 0;
  uint64_t number_ = 0;
  LoadClock::time_point next_beat_{};
};

double busy_seconds(const Json& status) {
  return status.find("since_start")->find("busy_seconds")->number().value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: farm_load ENDPOINT WORKERS JOBS [SECONDS]\n");
    return 2;
  }
  const auto jobs = static_cast<size_t>(std::atol(argv[3]));
  std::vector<IdleWorker> workers;
  for (size_t i = 0; i < static_cast<size_t>(std::atol(argv[2])); ++i)
    workers.emplace_back(argv[1], i);
  BusyClient client(argv[1], jobs);
  const double before = busy_seconds(client.status());
  const auto begin = LoadClock::now();
  const auto end = begin + std::chrono::seconds(argc > 4 ? std::atol(argv[4]) : 0);
  while (!client.is_done() || LoadClock::now() < end) {
    bool has_worked = client.turn();
    for (IdleWorker& worker : workers) has_worked |= worker.turn();
    if (!has_worked) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const double seconds = std::chrono::duration<double>(LoadClock::now() - begin).count();
  const Json status = client.status();
  std::printf(
      "{\"workers\": %zu, \"jobs\": %zu, \"seconds\": %.3f, \"dispatcher_seconds\": %.3f}\n",
      status.find("workers")->as_array()->size(), jobs, seconds, busy_seconds(status) - before);
  return 0;
}
