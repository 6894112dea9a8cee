#include "common/ir/memory.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

constexpr std::string_view kClasses[] = {"arena", "weights", "input", "output"};

}  // namespace

std::string_view memory_class_name(MemoryClass memory) {
  return kClasses[static_cast<size_t>(memory)];
}

std::optional<MemoryClass> memory_class_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kClasses, name);
  if (found == std::end(kClasses)) return std::nullopt;
  return static_cast<MemoryClass>(found - kClasses);
}

TaskRange hull_of(const std::vector<LiveRange>& live) {
  if (live.empty()) return {};
  TaskRange hull{live[0].first, live[0].last};
  for (const LiveRange& range : live) {
    hull.first = std::min(hull.first, range.first);
    hull.last = std::max(hull.last, range.last);
  }
  return hull;
}

uint64_t begin_of(const std::vector<DeviceMemory>& memories, uint32_t memory) {
  uint64_t begin = 0;
  for (uint32_t before = 0; before < memory && before < memories.size(); ++before) {
    for (const uint64_t bytes : memories[before].sub_memories) begin += bytes;
  }
  return begin;
}

}  // namespace sluice
