#include "orchestrator/farm/holders.h"

#include <sys/stat.h>

#include <algorithm>

#include "common/base/store.h"
#include "orchestrator/farm/artifacts.h"

namespace sluice {
namespace {

// What is known has bounds; what is forgotten costs a copy more from here.
constexpr size_t kMaxArtifacts = 16384, kMaxHolders = 64, kMaxWaiting = 256, kMaxCounted = 10000;
constexpr int kAskersAtOnce = 2;  // of one holder, for one artifact
// Until a worker that gets an artifact is believed not to, and so many more for its bytes.
constexpr std::chrono::seconds kGetPatience{3}, kReferralPatience{10};
constexpr uint64_t kGetBytesPerSecond = 64u << 20, kReferralBytesPerSecond = 8u << 20;

bool serves(const FarmWorker& worker) {
  return worker.takes_jobs() && !worker.beat.endpoint().empty();
}

bool contains(const std::deque<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

uint64_t bytes_of_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

}  // namespace

Holders::Artifact* Holders::find(const Digest& digest) {
  const auto artifact = artifacts_.find(digest);
  return artifact == artifacts_.end() ? nullptr : &artifact->second;
}

// Returns null for what is small, or not here.
Holders::Artifact* Holders::make(const Digest& digest) {
  const uint64_t total = bytes_of_file(store_path(store_.path(), digest));
  if (total < kMinShared) return nullptr;
  if (order_.size() >= kMaxArtifacts) {
    artifacts_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(digest);
  Artifact& artifact = artifacts_[digest];
  artifact.total = total;
  return &artifact;
}

bool Holders::answer(const std::string& peer, const pb::Get& get, FarmClock::time_point now) {
  const auto digest = digest_of_field(get.digest());
  if (!digest || get.bytes() == 0) return false;
  const FarmWorker* asker = workers_.find_at(peer);
  if (asker == nullptr) return false;
  Artifact* artifact = find(*digest);
  if (artifact == nullptr) {
    if (serves(*asker)) artifact = make(*digest);
    if (artifact == nullptr) return false;
  }
  std::erase(artifact->holders, asker->id);  // it does not have it
  std::erase_if(artifact->referrals, [&](const Referral& one) { return one.until < now; });
  if (artifact->getter_until < now) artifact->getter.clear();
  if (get.here_only().empty()) return is_answered(*digest, *artifact, *asker, now);
  drop_holder(*artifact, get.here_only());
  std::erase_if(artifact->referrals, [&](const Referral& one) { return one.asker == asker->id; });
  if (artifact->getter.empty() || artifact->getter == asker->id)
    begin_getting(*artifact, *asker, now);
  return false;
}

bool Holders::is_answered(const Digest& digest, Artifact& artifact, const FarmWorker& asker,
                          FarmClock::time_point now) {
  const auto is_askers = [&](const Referral& one) { return one.asker == asker.id; };
  if (artifact.getter == asker.id) return begin_getting(artifact, asker, now), false;
  std::erase_if(artifact.referrals, is_askers);  // the answer to it may have been lost
  if (!contains(artifact.waiting, asker.id) && artifact.waiting.size() < kMaxWaiting)
    artifact.waiting.push_back(asker.id);
  refer_waiting(digest, artifact, now);
  if (std::ranges::any_of(artifact.referrals, is_askers)) return true;
  const bool has_holder = std::ranges::any_of(artifact.holders, [&](const std::string& id) {
    const auto worker = workers_.all().find(id);
    return worker != workers_.all().end() && serves(worker->second);
  });
  if (!has_holder && artifact.getter.empty()) {
    std::erase(artifact.waiting, asker.id);
    return begin_getting(artifact, asker, now), false;
  }
  pb::FarmMessage message;
  message.mutable_piece()->set_digest(digest_field(digest));
  message.mutable_piece()->set_is_later(true);
  send_(asker.peer, message);
  return true;
}

// Notes that a worker gets it from here, so that others wait for it when it can give it on.
void Holders::begin_getting(Artifact& artifact, const FarmWorker& worker,
                            FarmClock::time_point now) {
  if (!serves(worker)) return;
  artifact.getter = worker.id;
  artifact.getter_until =
      now + kGetPatience + std::chrono::seconds(artifact.total / kGetBytesPerSecond);
}

// Returns a holder that has an asker less than it may have, and puts it behind the others.
const FarmWorker* Holders::pick(Artifact& artifact, const std::string& asker) {
  for (auto id = artifact.holders.begin(); id != artifact.holders.end(); ++id) {
    const auto worker = workers_.all().find(*id);
    const auto askers = std::ranges::count(artifact.referrals, *id, &Referral::holder);
    if (*id == asker || worker == workers_.all().end() || !serves(worker->second) ||
        askers >= kAskersAtOnce)
      continue;
    std::rotate(id, id + 1, artifact.holders.end());
    return &worker->second;
  }
  return nullptr;
}

void Holders::refer_waiting(const Digest& digest, Artifact& artifact, FarmClock::time_point now) {
  while (!artifact.waiting.empty()) {
    const auto asker = workers_.all().find(artifact.waiting.front());
    if (asker != workers_.all().end()) {
      const FarmWorker* holder = pick(artifact, asker->first);
      if (holder == nullptr) return;
      const std::chrono::seconds time(artifact.total / kReferralBytesPerSecond);
      artifact.referrals.push_back({asker->first, holder->id, now + kReferralPatience + time});
      refer(digest, artifact, asker->second, *holder);
    }
    artifact.waiting.pop_front();
  }
}

void Holders::refer(const Digest& digest, const Artifact& artifact, const FarmWorker& asker,
                    const FarmWorker& holder) {
  pb::FarmMessage message;
  pb::Piece& piece = *message.mutable_piece();
  piece.set_digest(digest_field(digest));
  piece.set_total(artifact.total);
  piece.set_elsewhere(holder.beat.endpoint());
  piece.set_elsewhere_key(holder.beat.public_key());
  send_(asker.peer, message);
}

void Holders::drop_holder(Artifact& artifact, const std::string& endpoint) {
  std::erase_if(artifact.holders, [&](const std::string& id) {
    const auto worker = workers_.all().find(id);
    return worker == workers_.all().end() || worker->second.beat.endpoint() == endpoint;
  });
}

void Holders::take_beat(const FarmWorker& worker, FarmClock::time_point now) {
  count_bytes(worker);
  for (const std::string& field : worker.beat.got())
    if (const auto digest = digest_of_field(field)) take_got(worker, *digest, now);
}

void Holders::take_got(const FarmWorker& worker, const Digest& digest, FarmClock::time_point now) {
  Artifact* artifact = find(digest);
  if (artifact == nullptr && serves(worker)) artifact = make(digest);
  if (artifact == nullptr) return;
  if (artifact->getter == worker.id) artifact->getter.clear();
  std::erase(artifact->waiting, worker.id);
  std::erase_if(artifact->referrals, [&](const Referral& one) { return one.asker == worker.id; });
  const bool is_new = !contains(artifact->holders, worker.id);
  if (is_new && serves(worker) && artifact->holders.size() < kMaxHolders)
    artifact->holders.push_front(worker.id);
  refer_waiting(digest, *artifact, now);
}

// A worker counts from its start, and may be taken for lost and come again.
void Holders::count_bytes(const FarmWorker& worker) {
  if (worker.beat.peer_bytes() == 0) return;
  if (counted_.size() >= kMaxCounted)
    std::erase_if(counted_, [&](const auto& one) { return !workers_.all().contains(one.first); });
  uint64_t& counted = counted_[worker.id];
  bytes_ += std::max(counted, worker.beat.peer_bytes()) - counted;
  counted = std::max(counted, worker.beat.peer_bytes());
}

void Holders::remove(const std::string& worker) {
  for (auto& [digest, artifact] : artifacts_) {
    std::erase(artifact.holders, worker);
    std::erase(artifact.waiting, worker);
    if (artifact.getter == worker) artifact.getter.clear();
    std::erase_if(artifact.referrals,
                  [&](const Referral& one) { return one.asker == worker || one.holder == worker; });
  }
}

}  // namespace sluice
