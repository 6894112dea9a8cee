#include "orchestrator/farm/farm_workers.h"

#include <algorithm>

namespace sluice {
namespace {

// Workers that are lost in so short a time have a common cause.
constexpr std::chrono::seconds kStorm{15};
constexpr int kMaxLies = 3;

// Returns who answers for a worker's lies.
std::string liar_of(const FarmWorker& worker) {
  return worker.user.empty() ? "peer " + worker.peer : "key " + worker.user;
}

}  // namespace

size_t FarmWorker::groups() const {
  std::set<uint64_t> groups;
  for (const auto& [number, lease] : leases) groups.insert(lease.group);
  return groups.size();
}

bool FarmWorker::takes_jobs() const { return is_reachable && !beat.is_draining() && !is_excluded; }

FarmWorker* FarmWorkers::find(const std::string& id) {
  const auto worker = workers_.find(id);
  return worker == workers_.end() ? nullptr : &worker->second;
}

FarmWorker* FarmWorkers::find_at(const std::string& peer) {
  const auto id = by_peer_.find(peer);
  return id == by_peer_.end() ? nullptr : find(id->second);
}

uint64_t FarmWorkers::slots() const {
  uint64_t slots = 0;
  for (const auto& [id, worker] : workers_) slots += worker.beat.slots();
  return slots;
}

uint64_t FarmWorkers::largest_memory() const {
  uint64_t bytes = 0;
  for (const auto& [id, worker] : workers_)
    if (worker.takes_jobs()) bytes = std::max<uint64_t>(bytes, worker.beat.memory_bytes());
  return bytes;
}

bool FarmWorkers::has(const std::string& id, uint64_t lease) const {
  const auto holder = leases_.find(lease);
  return holder != leases_.end() && holder->second == id;
}

FarmWorker* FarmWorkers::holder(uint64_t lease) {
  const auto holder = leases_.find(lease);
  return holder == leases_.end() ? nullptr : find(holder->second);
}

std::vector<uint64_t> FarmWorkers::give(FarmWorker& worker, const std::vector<Digest>& keys) {
  const uint64_t group = next_lease_;
  std::vector<uint64_t> numbers;
  for (const Digest& key : keys) {
    numbers.push_back(next_lease_);
    adopt(worker, next_lease_++, {.key = key, .group = group});
  }
  return numbers;
}

void FarmWorkers::adopt(FarmWorker& worker, uint64_t number, const FarmLease& lease) {
  worker.leases[number] = lease;
  leases_[number] = worker.id;
}

void FarmWorkers::free(uint64_t number) {
  FarmWorker* worker = holder(number);
  if (worker == nullptr) return;
  worker->leases.erase(number);
  if (worker->leases.empty()) worker->is_alone = false;
  leases_.erase(number);
}

void FarmWorkers::connect(FarmWorker& worker, const std::string& peer, const std::string& user) {
  if (worker.peer == peer && worker.user == user) return;
  by_peer_.erase(worker.peer);
  worker.peer = peer;
  worker.user = user;
  by_peer_[peer] = worker.id;
  const auto lies = lies_.find(liar_of(worker));
  worker.is_excluded |= lies != lies_.end() && lies->second >= kMaxLies;
}

bool FarmWorkers::count_lie(const std::string& peer) {
  const FarmWorker* liar = find_at(peer);
  if (liar == nullptr) return false;
  const std::string name = liar_of(*liar);
  const bool is_last = ++lies_[name] == kMaxLies;
  if (lies_[name] < kMaxLies) return false;
  for (auto& [id, worker] : workers_) worker.is_excluded |= liar_of(worker) == name;
  return is_last;
}

std::vector<LostLease> FarmWorkers::remove(const std::string& id, FarmClock::time_point now) {
  std::vector<LostLease> lost;
  const auto entry = workers_.find(id);
  if (entry == workers_.end()) return lost;
  const FarmWorker worker = std::move(entry->second);
  workers_.erase(entry);
  const auto at = by_peer_.find(worker.peer);
  if (at != by_peer_.end() && at->second == id) by_peer_.erase(at);
  while (!losses_.empty() && now - losses_.front().time > kStorm) losses_.pop_front();
  const auto begun = std::ranges::count_if(
      worker.leases, [](const auto& lease) { return lease.second.has_begun; });
  Loss loss{.time = now, .keys = {}};
  for (const auto& [number, lease] : worker.leases) {
    leases_.erase(number);
    loss.keys.insert(lease.key);
    const bool is_excused = std::ranges::any_of(
        losses_, [&](const Loss& other) { return !other.keys.contains(lease.key); });
    lost.push_back({number, lease.key,
                    !lease.has_begun ? Blame::kNone
                    : is_excused     ? Blame::kExcused
                    : begun == 1     ? Blame::kAlone
                                     : Blame::kTogether});
  }
  if (!worker.beat.is_draining()) losses_.push_back(std::move(loss));
  return lost;
}

}  // namespace sluice
