// Whether buffers fit below a capacity: a depth-first branch and bound in the manner of M. D.
// Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning",
// ASPLOS 2023, written anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// Searches the canonical placements: every buffer lies at 0 or on another one (what does not can be
// moved down), and buffers are placed by rising offset, those of one offset by rising index. A
// branch ends when one of these holds:
//   - a task's lowest free offset and the bytes still to be placed there exceed the capacity; a
//     buffer that lies lower than the last offset is first raised onto one that comes later;
//   - the next buffer lies so high that another one would fit below it: that one comes first;
//   - the next buffer has a twin of the same size and life and a smaller index.
//   - the same buffers were to be placed above the same offsets before, in vain (a table of 64-bit
//     digests, as chess programs have them: were two of them equal, a placement could be missed).
// Buffers that no unplaced buffer connects in time are placed independently of each other.
class CapacitySearch {
 public:
  enum class Outcome : uint8_t { kPlaced, kImpossible, kStopped };

  // Buffers have bytes, dense tasks (dense_tasks.h), and the order in which they are tried.
  explicit CapacitySearch(const std::vector<Buffer>& buffers);

  // Searches until all buffers are placed, cannot be, or `limit` buffers were visited: those that
  // are unplaced, each time that one is placed. Every 256 tasks of a life, or buffers live with it,
  // count as one more. O(limit).
  Outcome run(uint64_t capacity, uint64_t limit);
  uint64_t visits() const { return visits_; }                        // of the last run
  const std::vector<uint64_t>& offsets() const { return offsets_; }  // by buffer, once placed

 private:
  using Ids = std::vector<uint32_t>;  // unplaced buffers that are connected, by their first task
  struct Last {                       // the buffer placed last
    uint64_t offset = 0;
    uint32_t id = 0;
  };
  struct Raised {
    uint32_t id;
    uint64_t offset;  // before
  };

  Outcome place(const Ids& ids, const Last& last);
  Outcome place_first(const Ids& ids, uint32_t id);
  Outcome place_groups(const Ids& ids, const Last& last);
  bool must_wait(uint32_t id, const Last& last) const;
  uint64_t lowest_offset(uint32_t id, const Last& last) const;
  bool may_fit(const Ids& ids, const Last& last);
  std::vector<uint32_t> candidates(const Ids& ids, const Last& last) const;
  uint64_t state_of(const Ids& ids, const Last& last) const;
  void put(uint32_t id);
  void take_back(size_t placed, size_t raised);

  std::vector<Buffer> buffers_;
  std::vector<Ids> overlapping_;     // by buffer: those live together with it
  std::vector<uint64_t> visits_of_;  // by buffer: what a visit counts
  std::vector<int64_t> twins_;     // by buffer: the one before it of the same size and life, or -1
  std::vector<uint64_t> offsets_;  // by buffer: the lowest that those placed allow, or its own
  std::vector<bool> is_placed_;
  Ids placed_;                             // in order
  std::vector<Raised> raised_;             // in order
  std::vector<uint64_t> floors_, totals_;  // by task, of the group that is being tested
  std::vector<uint64_t> failed_;           // digests of states, each at its low bits; 0: none
  uint64_t capacity_ = 0, limit_ = 0, visits_ = 0;
};

}  // namespace sluice
