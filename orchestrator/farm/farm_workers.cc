#include "orchestrator/farm/farm_workers.h"

#include <algorithm>
#include <set>

namespace sluice {

size_t FarmWorker::groups() const {
  std::set<uint64_t> groups;
  for (const auto& [number, lease] : leases) groups.insert(lease.group);
  return groups.size();
}

size_t FarmWorker::begun() const {
  return static_cast<size_t>(
      std::ranges::count_if(leases, [](const auto& entry) { return entry.second.has_begun; }));
}

}  // namespace sluice
