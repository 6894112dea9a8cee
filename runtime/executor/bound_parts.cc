#include "runtime/executor/bound_parts.h"

namespace sluice {

Result<std::shared_ptr<const StaticModel>> BoundParts::get(size_t part, std::span<const int64_t> symbols) {
  Key key{static_cast<int64_t>(part)};
  key.insert(key.end(), symbols.begin(), symbols.end());
  if (auto bound = find(key)) return bound;
  SLUICE_ASSIGN(TypeSizes sizes, TypeSizes::bind(model_->def(), symbols));
  SLUICE_ASSIGN(auto bound, StaticModel::bind(model_, static_cast<int>(part), std::move(sizes), host_graphs_[part]));
  return keep(key, std::move(bound));
}

std::shared_ptr<const StaticModel> BoundParts::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

// Two threads may have bound the same: the first one counts.
std::shared_ptr<const StaticModel> BoundParts::keep(const Key& key, std::shared_ptr<const StaticModel> bound) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) return found->second->second;
  entries_.emplace_front(key, std::move(bound));
  index_[key] = entries_.begin();
  if (entries_.size() > kMost) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return entries_.front().second;
}

}  // namespace sluice
