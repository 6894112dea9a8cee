#include "orchestrator/farm/farm_client.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "common/base/readable_text.h"
#include "common/graphfile/header.h"
#include "common/wire/channel.h"
#include "common/wire/failure.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_job.h"
#include "orchestrator/farm/random_id.h"
#include "orchestrator/process/process.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kClientTick{50}, kReturnPause{500};
constexpr seconds kDispatcherPatience{600};  // with a dispatcher that has answered once
constexpr size_t kJobsOfMessage = 100, kUnansweredAtOnce = 8;

std::string owner_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const passwd* user = ::getpwuid(::getuid());
  return fmt::format("{}@{}", user == nullptr ? "unknown" : user->pw_name, host.data());
}

class FarmRun {
 public:
  FarmRun(const FarmProvider& provider, Store& store, const std::vector<Digest>& keys,
          const JobEvents& events, Channel& channel)
      : provider_(provider),
        store_(store),
        events_(events),
        channel_(channel),
        artifacts_(store,
                   [this](const std::string&, pb::Get get) {
                     pb::FarmMessage message;
                     *message.mutable_get() = std::move(get);
                     return channel_.send(message);
                   }),
        open_(keys.begin(), keys.end()),
        unsent_(keys.begin(), keys.end()) {}

  Result<void> run() {
    for (const Digest& key : unsent_) events_.began(key);
    while (!open_.empty() && !is_stopped_ && !interrupted() && !provider_.is_over())
      SLUICE_TRY(turn());
    send_beat(true);
    return {};
  }

 private:
  struct Message {
    std::vector<Digest> keys;
    FarmClock::time_point due{};  // when it is sent again
  };
  struct Product {
    Record record;
    std::set<Digest> missing;
    int damaged = 0;
  };

  Result<void> turn() {
    SLUICE_TRY(submit());
    channel_.wait({}, kClientTick);
    if (auto error = channel_.take_key_error()) return std::move(*error);
    while (auto incoming = channel_.receive()) SLUICE_TRY(take(*incoming));
    const auto now = FarmClock::now();
    // What came while this program was stopped has not been seen.
    if (now - last_turn_ > kFarmHeartbeat) last_heard_ += now - last_turn_;
    last_turn_ = now;
    artifacts_.turn(now);
    for (const Artifacts::Arrival& arrival : artifacts_.take_arrivals()) take_arrival(arrival);
    if (has_lost_product_ && provider_.listener == FarmListener::kWorker)
      return make_error(ErrorCode::kIo, "the worker at '{}' has lost what it made",
                        provider_.endpoint);
    if (has_lost_product_ && now >= next_return_) leave_and_return(now);
    if (now >= next_beat_) send_beat(false);
    return check_life(now);
  }

  // ---- submitting

  Result<void> submit() {
    while (!unsent_.empty() && messages_.size() < kUnansweredAtOnce) {
      Message& message = messages_[++last_message_];
      const size_t count = std::min(unsent_.size(), kJobsOfMessage);
      message.keys.assign(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(count));
      unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(count));
    }
    const auto now = FarmClock::now();
    for (auto& [number, message] : messages_) {
      if (now < message.due) continue;
      message.due = now + kFarmHeartbeat;
      SLUICE_TRY(send(number, message));
    }
    return {};
  }

  Result<void> send(uint64_t number, const Message& message) {
    pb::FarmMessage whole;
    pb::Submit& submit = *whole.mutable_submit();
    submit.set_client(id_);
    submit.set_owner(owner_);
    submit.set_number(number);
    submit.set_release(version_text());
    for (const Digest& key : message.keys) {
      const auto record = store_.find_job(key);
      if (!record)
        return make_error(ErrorCode::kNotFound, "the store '{}' has lost the job {}", store_.path(),
                          digest_hex(key));
      pb::FarmJob& job = *submit.add_jobs();
      job.set_record(record_text(*record));
      job.set_priority(provider_.priority);
    }
    channel_.send(whole);
    return {};
  }

  // ---- what the dispatcher says

  Result<void> take(const Incoming& incoming) {
    const pb::FarmMessage& message = incoming.message;
    last_heard_ = FarmClock::now();
    has_heard_ = true;
    is_silent_ = false;
    switch (message.is_case()) {
      case pb::FarmMessage::kAccepted:
        return take(message.accepted()), Result<void>();
      case pb::FarmMessage::kEnded:
        return take(message.ended()), Result<void>();
      case pb::FarmMessage::kPiece:
        return artifacts_.take({}, message.piece(), incoming.bytes.bytes), Result<void>();
      case pb::FarmMessage::kGet:
        return send_piece(message.get()), Result<void>();
      case pb::FarmMessage::kUnfit:
        return take(message.unfit()), Result<void>();
      case pb::FarmMessage::kRefused:
        return failure_error(message.refused()).within(provider_.endpoint);
      default:
        return {};
    }
  }

  void take(const pb::Unfit& unfit) {
    if (unfit.why() != last_unfit_)
      events_.waiting(fmt::format("{} jobs wait at '{}': {}", unfit.jobs(), provider_.endpoint,
                                  readable_text(unfit.why())));
    last_unfit_ = unfit.why();
  }

  void take(const pb::Accepted& accepted) {
    if (!accepted.is_full()) messages_.erase(accepted.number());
  }

  void take(const pb::Ended& ended) {
    if (ended.client() != id_) return;  // who we were
    if (ended.has_lost_client()) {      // its state is gone: another one is there now
      if (!messages_.empty()) return;
      seen_ = 0;
      unsent_.assign(open_.begin(), open_.end());
      std::erase_if(unsent_, [&](const Digest& key) { return products_.contains(key); });
      return;
    }
    if (ended.after() > seen_) return;  // those before are sent again
    for (int i = static_cast<int>(seen_ - ended.after()); i < ended.jobs_size(); ++i) {
      ++seen_;
      take_end(ended.jobs(i));
    }
    send_beat(false);
  }

  void take_end(const pb::JobEnd& end) {
    const auto key = digest_of_field(end.key());
    if (!key || !open_.contains(*key) || is_stopped_) return;
    if (end.exit_code() != 0) return take_failure(*key, end);
    auto record = parse_record(end.record());
    if (!record || record->key() != *key) return void(has_lost_product_ = true);
    Product product{.record = std::move(*record), .missing = {}};
    for (const Digest& artifact : product.record.artifacts())
      if (!artifacts_.has(artifact)) product.missing.insert(artifact);
    const std::set<Digest> missing = product.missing;
    products_[*key] = std::move(product);
    for (const Digest& artifact : missing) {
      waiting_[artifact].insert(*key);
      artifacts_.want(artifact, {});
    }
    if (missing.empty()) finish(*key);
  }

  void take_failure(const Digest& key, const pb::JobEnd& end) {
    auto failure = store_.find_job(key);
    if (failure) {
      failure->results = {};
      failure->results.add("code", fmt::format("{}", end.exit_code()));
      failure->results.add("text", end.error());
      if (end.signal() != 0) failure->results.add("signal", fmt::format("{}", end.signal()));
      store_.keep_failure(*failure);
    }
    report_end(key);
  }

  void take_arrival(const Artifacts::Arrival& arrival) {
    const std::set<Digest> keys = std::exchange(waiting_[arrival.digest], {});
    waiting_.erase(arrival.digest);
    for (const Digest& key : keys) {
      const auto entry = products_.find(key);
      if (entry == products_.end()) continue;  // its end came again, and found the artifact
      Product& product = entry->second;
      if (arrival.fault.empty()) {
        product.missing.erase(arrival.digest);
        if (product.missing.empty()) finish(key);
      } else if (arrival.is_lie && ++product.damaged < kMaxDamagedArrivals) {
        channel_.send(check_question(arrival.digest));
        waiting_[arrival.digest].insert(key);
        artifacts_.want(arrival.digest, {});
      } else {
        products_.erase(key);
        if (arrival.is_absent || arrival.is_lie) {
          has_lost_product_ = true;
        } else {
          fail(key, arrival);
        }
      }
    }
  }

  // The dispatcher has lost products of ours: as another client we ask for them anew.
  void leave_and_return(FarmClock::time_point now) {
    has_lost_product_ = false;
    next_return_ = now + kReturnPause;
    send_beat(true);
    id_ = random_id();
    seen_ = 0;
    messages_.clear();
    unsent_.assign(open_.begin(), open_.end());
    std::erase_if(unsent_, [&](const Digest& key) { return products_.contains(key); });
  }

  void fail(const Digest& key, const Artifacts::Arrival& arrival) {
    auto failure = store_.find_job(key);
    if (failure) {
      failure->results = {};
      failure->results.add("code", fmt::format("{}", static_cast<int>(ExitClass::kResource)));
      failure->results.add("text", fmt::format("the product sha256:{} was not received: {}",
                                               digest_hex(arrival.digest), arrival.fault));
      store_.keep_failure(*failure);
    }
    report_end(key);
  }

  void finish(const Digest& key) {
    store_.keep(products_.at(key).record);
    store_.forget_failure(key);
    products_.erase(key);
    report_end(key);
  }

  void report_end(const Digest& key) {
    open_.erase(key);
    if (!events_.ended(key)) is_stopped_ = true;
  }

  // ---- what is said

  void send_piece(const pb::Get& get) {
    PieceOfArtifact answer = read_piece(store_, get);
    channel_.send(answer.message, std::move(answer.bytes));
  }

  void send_beat(bool leaves) {
    next_beat_ = FarmClock::now() + kFarmHeartbeat;
    pb::FarmMessage message;
    message.mutable_client_beat()->set_client(id_);
    message.mutable_client_beat()->set_seen(seen_);
    message.mutable_client_beat()->set_leaves(leaves);
    channel_.send(message);
  }

  Result<void> check_life(FarmClock::time_point now) {
    const bool is_worker = provider_.listener == FarmListener::kWorker;
    const bool is_waited_for = has_heard_ && !is_worker;
    if (is_waited_for && !is_silent_ && now - last_heard_ > kFarmHeartbeat * kMissedHeartbeats) {
      is_silent_ = true;
      events_.waiting(
          fmt::format("the dispatcher at '{}' does not answer; it is waited for, up to "
                      "{} seconds",
                      provider_.endpoint, kDispatcherPatience.count()));
    }
    const auto patience =
        is_waited_for ? milliseconds(kDispatcherPatience) : kFarmHeartbeat * kMissedHeartbeats;
    if (now - last_heard_ < patience) return {};
    return make_error(ErrorCode::kPeerLost, "no {} answers at '{}' for {} s",
                      is_worker ? "worker" : "dispatcher", provider_.endpoint,
                      std::chrono::duration_cast<seconds>(patience).count())
        .with_hint(is_worker ? "sluice worker --listen starts one; docs/transports.md"
                             : "sluice farm --bind starts one; docs/farm.md");
  }

  const FarmProvider& provider_;
  Store& store_;
  const JobEvents& events_;
  Channel& channel_;
  Artifacts artifacts_;
  std::string id_ = random_id();
  const std::string owner_ = owner_name();
  std::string last_unfit_;  // as it was reported
  std::set<Digest> open_;
  std::deque<Digest> unsent_;
  std::map<uint64_t, Message> messages_;  // that were not accepted yet, by number
  uint64_t last_message_ = 0, seen_ = 0;
  std::map<Digest, Product> products_;          // on their way
  std::map<Digest, std::set<Digest>> waiting_;  // artifact -> keys
  FarmClock::time_point next_beat_{}, next_return_{}, last_heard_ = FarmClock::now(),
                                                      last_turn_ = FarmClock::now();
  bool has_heard_ = false, is_silent_ = false, is_stopped_ = false, has_lost_product_ = false;
};

}  // namespace

Result<void> run_on_farm(const FarmProvider& provider, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events) {
  SLUICE_ASSIGN(Channel channel, Channel::connect(provider.endpoint, provider.keys));
  return run_on_farm(provider, channel, store, keys, events);
}

Result<void> run_on_farm(const FarmProvider& provider, Channel& channel, Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events) {
  return FarmRun(provider, store, keys, events, channel).run();
}

}  // namespace sluice
