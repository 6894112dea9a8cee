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

}  // namespace sluice
