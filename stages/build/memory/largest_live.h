// The largest of what needs memory at the same time, for errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct NamedBytes {
  std::string name;
  uint64_t bytes = 0;
};

// Returns "'a' (4096 bytes), 'b' (64 bytes)", the largest first, and after eight of them "and 3
// more".
std::string largest_live(std::vector<NamedBytes> live);

}  // namespace sluice
