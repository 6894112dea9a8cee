// A dispatcher for tests, with clients and workers that say what a test has them say.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/testing/test_folder.h"
#include "common/graphfile/header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/farm/dispatch.h"

namespace sluice {

struct Sent {
  std::string peer;
  pb::FarmMessage message;
};

// A dispatcher with a clock that tests move, and a network that keeps what it sends.
class DispatchTest : public ::testing::Test {
 protected:
  DispatchTest() { start(); }

  void start() {
    dispatch_.reset();
    DispatchSeams seams;
    seams.send = [this](const std::string& peer, const pb::FarmMessage& message, Payload) {
      sent_.push_back({peer, message});
      return !gone_.contains(peer);
    };
    seams.now = [this] { return now_; };
    dispatch_ = std::make_unique<Dispatch>(
        DispatchOptions{
            .store = store_.path(), .state = folder_.file("state"), .max_jobs = max_jobs_},
        FarmState::open(folder_.file("state"), false).value(), log_, std::move(seams));
    ASSERT_TRUE(dispatch_->begin().ok());
  }

  // ---- what comes

  void take(const std::string& peer, const pb::FarmMessage& message) {
    ASSERT_TRUE(dispatch_->take({.peer = peer, .message = message}).ok());
  }
  void turn(std::chrono::milliseconds time = std::chrono::milliseconds(0)) {
    now_ += time;
    ASSERT_TRUE(dispatch_->turn().ok());
  }
  // Time passes while these workers go on saying that they live.
  void pass(std::chrono::milliseconds time, const std::vector<std::string>& workers) {
    for (; time.count() > 0; time -= std::chrono::milliseconds(500)) {
      for (const std::string& worker : workers) beat(worker);
      turn(std::chrono::milliseconds(500));
    }
  }

  Record record_of(int number) {
    Record record{"kernel", {}, {}};
    record.fields.add("build", "b");
    record.fields.add("specification", sha256(std::to_string(number)));
    record.results.add("graph", graph_);
    numbers_[digest_field(record.key())] = number;
    return record;
  }
  pb::FarmMessage submission(const std::string& client, std::vector<int> jobs, int32_t priority = 0,
                             uint64_t number = 1) {
    pb::FarmMessage message;
    pb::Submit& submit = *message.mutable_submit();
    submit.set_client(client);
    submit.set_owner(client);
    submit.set_number(number);
    submit.set_release(version_text());
    for (const int job : jobs) {
      pb::FarmJob& added = *submit.add_jobs();
      added.set_record(record_text(record_of(job)));
      added.set_priority(priority);
    }
    return message;
  }
  void submit(const std::string& client, std::vector<int> jobs, int32_t priority = 0,
              uint64_t number = 1) {
    take("at " + client, submission(client, std::move(jobs), priority, number));
    turn();
  }
  void client_beat(const std::string& client, uint64_t seen, bool leaves = false) {
    pb::FarmMessage message;
    message.mutable_client_beat()->set_client(client);
    message.mutable_client_beat()->set_seen(seen);
    message.mutable_client_beat()->set_leaves(leaves);
    take("at " + client, message);
    turn();
  }

  // What the worker has, by what it was sent.
  void beat(const std::string& worker, uint32_t slots = 1, bool is_draining = false) {
    pb::FarmMessage message;
    pb::WorkerBeat& beat = *message.mutable_worker_beat();
    beat.set_worker(worker);
    beat.set_name(worker);
    beat.set_slots(slots_.emplace(worker, slots).first->second);
    beat.set_memory_bytes(memory_.contains(worker) ? memory_[worker] : 1000);
    beat.set_release(version_text());
    beat.add_builds("subgraph-optimize b");
    beat.set_number(++beats_);
    beat.set_is_draining(is_draining);
    for (const uint64_t lease : leases_[worker]) {
      pb::Running& running = *beat.add_running();
      running.set_lease(lease);
      running.set_key(key_of_lease_[lease]);
      running.set_has_begun(true);
    }
    take("at " + worker, message);
    turn();
    take_assigned();
  }
  void come(const std::string& worker, uint32_t slots = 1) { beat(worker, slots); }

  void done(
      const std::string& worker, uint64_t lease, int code = 0,
      const std::function<void(pb::Done&)>& change = [](pb::Done&) {}) {
    pb::FarmMessage message;
    pb::Done& done = *message.mutable_done();
    done.set_lease(lease);
    done.set_worker(worker);
    done.mutable_end()->set_key(key_of_lease_[lease]);
    done.mutable_end()->set_exit_code(static_cast<uint32_t>(code));
    if (code == 0) done.mutable_end()->set_record(product_text(record_of_lease_[lease]));
    if (code != 0) done.mutable_end()->set_error("broken");
    change(done);
    std::erase(leases_[worker], lease);
    take("at " + worker, message);
    turn();
    take_assigned();
  }
  std::string product_text(const std::string& job) {
    Record product = *parse_record(job);
    product.results = {};
    const std::string bytes = digest_hex(product.key());
    product.results.add("object", store_.keep(std::as_bytes(std::span(bytes))));
    return record_text(product);
  }

  // ---- what was sent

  // Takes the leases of all that was sent into what workers have.
  void take_assigned() {
    for (; read_ < sent_.size(); ++read_) {
      const Sent& sent = sent_[read_];
      const std::string worker = sent.peer.substr(3);
      for (const pb::Lease& lease : sent.message.assign().leases()) {
        record_of_lease_[lease.lease()] = lease.record();
        key_of_lease_[lease.lease()] = digest_field(parse_record(lease.record())->key());
        if (std::ranges::find(leases_[worker], lease.lease()) == leases_[worker].end())
          leases_[worker].push_back(lease.lease());
      }
      for (const uint64_t lease : sent.message.revoke().leases())
        std::erase(leases_[worker], lease);
    }
  }
  // The numbers of the jobs that a worker has.
  std::vector<int> jobs_of(const std::string& worker) {
    take_assigned();
    std::vector<int> jobs;
    for (const uint64_t lease : leases_[worker]) jobs.push_back(numbers_.at(key_of_lease_[lease]));
    return jobs;
  }
  std::vector<pb::FarmMessage> sent_to(const std::string& who, pb::FarmMessage::IsCase kind) const {
    std::vector<pb::FarmMessage> found;
    for (const Sent& sent : sent_)
      if (sent.peer == "at " + who && sent.message.is_case() == kind) found.push_back(sent.message);
    return found;
  }
  // The exit codes of the ends that a client was told, in order, each once.
  std::vector<uint32_t> ends_of(const std::string& client) const {
    std::vector<uint32_t> codes;
    for (const pb::FarmMessage& message : sent_to(client, pb::FarmMessage::kEnded)) {
      for (uint64_t i = 0; i < static_cast<uint64_t>(message.ended().jobs_size()); ++i)
        if (message.ended().after() + i == codes.size())
          codes.push_back(message.ended().jobs(static_cast<int>(i)).exit_code());
    }
    return codes;
  }
  uint64_t only_lease(const std::string& worker) {
    take_assigned();
    EXPECT_THAT(leases_[worker], ::testing::SizeIs(1));
    return leases_[worker].empty() ? 0 : leases_[worker][0];
  }

  const TestFolder folder_;
  const FarmLog log_{"test", false, -1};
  Store store_{folder_.file("store")};
  const Digest graph_ = store_.keep(std::as_bytes(std::span("graph")));
  std::map<std::string, int> numbers_;  // of jobs, by their keys
  FarmClock::time_point now_ = FarmClock::now();
  uint64_t max_jobs_ = 1000;
  std::deque<Sent> sent_;
  std::set<std::string> gone_;  // peers that nothing reaches
  std::unique_ptr<Dispatch> dispatch_;
  std::map<std::string, std::vector<uint64_t>> leases_;  // by worker
  std::map<std::string, uint32_t> slots_;
  std::map<std::string, uint64_t> memory_;
  std::map<uint64_t, std::string> key_of_lease_, record_of_lease_;
  size_t read_ = 0;
  uint64_t beats_ = 0;
};

}  // namespace sluice
