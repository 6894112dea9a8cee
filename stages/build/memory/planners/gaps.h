// The gap of an arena that a buffer takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

// Returns the first place from `begin` on of a buffer that may not lie across a multiple of
// `sub_memory_bytes`, if that is not 0; one that has more begins at a multiple.
inline uint64_t first_place(uint64_t begin, uint64_t bytes, uint64_t sub_memory_bytes) {
  if (sub_memory_bytes == 0 || bytes == 0) return begin;
  const uint64_t within = begin % sub_memory_bytes;
  return within == 0 || within + bytes <= sub_memory_bytes ? begin
                                                           : begin + sub_memory_bytes - within;
}

// Returns the place in the smallest gap that fits between the occupied ranges [begin, end), which
// are sorted; or after the last of them ("best fit", Knuth, TAOCP 1, 2.5).
inline uint64_t best_gap(std::span<const std::pair<uint64_t, uint64_t>> occupied, uint64_t bytes,
                         uint64_t sub_memory_bytes = 0) {
  uint64_t end = 0, best = UINT64_MAX, best_offset = 0;
  for (const auto& [begin, after] : occupied) {
    const uint64_t place = first_place(end, bytes, sub_memory_bytes);
    if (begin >= place && begin - place >= bytes && begin - end < best) {
      best = begin - end;
      best_offset = place;
    }
    end = std::max(end, after);
  }
  return best == UINT64_MAX ? first_place(end, bytes, sub_memory_bytes) : best_offset;
}

}  // namespace sluice
