#include "orchestrator/farm/ready_queue.h"

#include <algorithm>

namespace sluice {

void ReadyQueue::put(const Digest& key, const Place& place) {
  Owners& owners = by_priority_[place.priority];
  auto owner = std::ranges::find(owners, place.owner, &Owner::name);
  if (owner == owners.end()) owner = owners.insert(owners.end(), Owner{place.owner, {}});
  auto line = std::ranges::find_if(owner->lines, [&](const Line& one) {
    return one.needs == place.needs && one.kind == place.kind;
  });
  if (line == owner->lines.end())
    line = owner->lines.insert(owner->lines.end(), Line{place.needs, place.kind, {}});
  line->keys.push_back(key);
  ++size_;
}

std::vector<Digest> ReadyQueue::take(const std::function<bool(const std::string& needs)>& fits,
                                     const std::function<size_t(const std::string& kind)>& count) {
  std::vector<Digest> taken;
  for (auto level = by_priority_.begin(); level != by_priority_.end(); ++level) {
    Owners& owners = level->second;
    for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
      const auto line =
          std::ranges::find_if(owner->lines, [&](const Line& one) { return fits(one.needs); });
      if (line == owner->lines.end()) continue;
      const size_t wanted = std::min(count(line->kind), line->keys.size());
      taken.assign(line->keys.begin(), line->keys.begin() + static_cast<ptrdiff_t>(wanted));
      line->keys.erase(line->keys.begin(), line->keys.begin() + static_cast<ptrdiff_t>(wanted));
      size_ -= wanted;
      owner->lines.splice(owner->lines.end(), owner->lines, line);
      if (owner->lines.back().keys.empty()) owner->lines.pop_back();
      owners.splice(owners.end(), owners, owner);
      if (owners.back().lines.empty()) owners.pop_back();
      if (owners.empty()) by_priority_.erase(level);
      return taken;
    }
  }
  return taken;
}

void ReadyQueue::for_each(
    const std::function<void(const std::string& owner, const std::string& needs, size_t jobs)>&
        function) const {
  for (const auto& [priority, owners] : by_priority_)
    for (const Owner& owner : owners)
      for (const Line& line : owner.lines) function(owner.name, line.needs, line.keys.size());
}

}  // namespace sluice
