// The gap of an arena that a buffer takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

// Returns the smallest gap that fits between the occupied ranges [begin, end), which are sorted; or
// the end of the last of them ("best fit", Knuth, TAOCP 1, 2.5).
inline uint64_t best_gap(std::span<const std::pair<uint64_t, uint64_t>> occupied, uint64_t bytes) {
  uint64_t end = 0, best = UINT64_MAX, best_offset = 0;
  for (const auto& [begin, after] : occupied) {
    if (begin >= end && begin - end >= bytes && begin - end < best) {
      best = begin - end;
      best_offset = end;
    }
    end = std::max(end, after);
  }
  return best == UINT64_MAX ? end : best_offset;
}

}  // namespace sluice
