#include "runtime/executor/bound_parts.h"

namespace sluice {

Result<std::shared_ptr<const StaticModel>> BoundParts::get(
    size_t part, std::span<const int64_t> symbols, std::shared_ptr<const StaticModel> held) {
  Key key{static_cast<int64_t>(part)};
  key.insert(key.end(), symbols.begin(), symbols.end());
  if (auto bound = find(key, std::move(held))) return bound;
  SLUICE_ASSIGN(TypeSizes sizes, TypeSizes::bind(model_->def(), symbols));
  SLUICE_ASSIGN(auto bound, StaticModel::bind(model_, static_cast<int>(part), std::move(sizes),
                                              host_graphs_[part]));
  return keep(key, std::move(bound));
}

std::shared_ptr<const StaticModel> BoundParts::find(const Key& key,
                                                    std::shared_ptr<const StaticModel> held) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) {
    if (held != nullptr) ++counters_.hits;
    return held;
  }
  ++counters_.hits;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->bound;
}

// Two threads may have bound the same part and symbols: the first entry is kept.
std::shared_ptr<const StaticModel> BoundParts::keep(const Key& key,
                                                    std::shared_ptr<const StaticModel> bound) {
  constexpr uint64_t kEntryBytes = 256;  // of list, map and counts around an entry
  const uint64_t bytes = bound->held_bytes() + 2 * key.size() * sizeof(int64_t) + kEntryBytes;
  const std::lock_guard lock(mutex_);
  ++counters_.binds;
  if (const auto found = index_.find(key); found != index_.end()) return found->second->bound;
  if (bytes > counters_.limit_bytes) return bound;
  give_up(counters_.limit_bytes - bytes);
  entries_.push_front({key, bound, bytes});
  index_[key] = entries_.begin();
  ++counters_.parts;
  counters_.bytes += bytes;
  return bound;
}

// Evicts the least recently used entries until the others take at most max_bytes. Runs keep the
// entries that they use alive.
void BoundParts::give_up(uint64_t max_bytes) {
  while (counters_.bytes > max_bytes) {
    counters_.bytes -= entries_.back().bytes;
    --counters_.parts;
    ++counters_.evictions;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void BoundParts::limit(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  counters_.limit_bytes = bytes;
  give_up(bytes);
}

BoundPartsCounters BoundParts::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace sluice
