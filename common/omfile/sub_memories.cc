#include "common/omfile/sub_memories.h"

#include <algorithm>

namespace sluice {

std::vector<uint64_t> arena_ends(const pb::MemoryDef& memory) {
  if (memory.sub_memories().empty()) return {memory.arena_bytes()};
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  for (const pb::SubMemoryDef& each : memory.sub_memories()) ends.push_back(end += each.bytes());
  return ends;
}

size_t allocation_of(const std::vector<uint64_t>& ends, uint64_t offset) {
  const auto found = std::ranges::upper_bound(ends, offset);
  return static_cast<size_t>(std::min(found, ends.end() - 1) - ends.begin());
}

}  // namespace sluice
