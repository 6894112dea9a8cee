// A count of things, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/core.h"

namespace sluice {

// Returns "1 node" or "2 nodes".
inline std::string count_text(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace sluice
