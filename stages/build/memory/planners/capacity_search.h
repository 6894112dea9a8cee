// Whether buffers fit below a capacity: a depth-first branch and bound. The canonical placements
// and the split into groups are those of M. D. Moffitt, "MiniMalloc: A Lightweight Memory Allocator
// for Hardware-Accelerated Machine Learning", ASPLOS 2023; the choice of the task with the fewest
// buffers, which failures weigh, is that of F. Boussemart et al., "Boosting Systematic Search by
// Weighting Constraints", ECAI 2004. Written anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"
#include "stages/build/memory/planners/offset_bounds.h"

namespace sluice {

// Fills the arena from its floor up. A step takes a task in whose valley of the floors every buffer
// that may come next lies flat, and tries for the bytes at its floor: each of those buffers, and
// that none has them. Of such tasks it takes the one with the fewest of these choices, divided by
// how often the search failed there. A branch ends when one of these holds:
//   - the buffers do not fit above their lowest offsets (offset_bounds.h);
//   - a buffer could be moved down: it lies on no other one, or bytes that were given up have room
//     for it;
//   - two buffers of the same life lie on each other, the larger index below; or of two of the same
//     size and life, the smaller index is unplaced;
//   - the same buffers were to be placed above the same floors before, in vain (a table of 64-bit
//     digests, as chess programs have them: were two of them equal, a placement could be missed).
// Buffers that no unplaced buffer connects in time are placed independently of each other.
class CapacitySearch {
 public:
  enum class Outcome : uint8_t { kPlaced, kImpossible, kStopped };

  // Buffers have bytes, dense tasks (dense_tasks.h), and the order in which they are tried. Low
  // valleys are preferred, or the depth of a valley does not matter.
  CapacitySearch(const std::vector<Buffer>& buffers, bool prefers_low);

  // Searches until all buffers are placed, cannot be, or `limit` buffers were visited: those that
  // are unplaced, twice each time that one is placed, bytes are given up, or floors rise by that,
  // and once when a task is chosen. Every 256 tasks of a life, or buffers live with it, count as
  // one more. O(limit).
  Outcome run(uint64_t capacity, uint64_t limit);
  uint64_t visits() const { return visits_; }                        // of the last run
  const std::vector<uint64_t>& offsets() const { return offsets_; }  // by buffer, once placed

 private:
  using Ids = std::vector<uint32_t>;
  struct Choices {                 // of a task
    uint64_t flat = 0;             // the buffers that may lie at its floor, and are flat there
    uint64_t slopes = 0;           // those that may lie at its floor, but have lower ones too
    uint64_t raised = UINT64_MAX;  // a bound of its floor when none of them lies there
  };

  Outcome place(const BufferGroup& group);
  Outcome place_at(const BufferGroup& group, size_t task);
  Outcome place_first(const BufferGroup& group, uint32_t id);
  Outcome place_groups(const Ids& ids);
  bool tighten(const BufferGroup& group);
  void count_visits(const BufferGroup& group, uint64_t passes);
  bool waits_for_twin(uint32_t id) const;
  bool may_lie(uint32_t id) const;
  size_t choose_task(const BufferGroup& group);
  uint64_t cost_of(uint64_t choices, uint64_t floor) const;
  void count_choices(uint32_t id);
  Ids flat_at(const BufferGroup& group, size_t task) const;
  uint64_t raised_floor(const BufferGroup& group, size_t task) const;
  uint64_t state_of(const BufferGroup& group) const;

  const Buffer& buffer(uint32_t id) const { return bounds_.buffers()[id]; }

  OffsetBounds bounds_;
  bool prefers_low_;
  std::vector<Ids> overlapping_;     // by buffer: those live together with it
  std::vector<uint64_t> visits_of_;  // by buffer: what a visit counts
  std::vector<int64_t> twins_;     // by buffer: the one before it of the same size and life, or -1
  std::vector<uint64_t> offsets_;  // by buffer, once placed
  std::vector<bool> is_placed_;
  std::vector<Choices> choices_;  // by task, of the group that is being placed
  std::vector<uint64_t> failed_;  // digests of states, each at its low bits; 0: none
  uint64_t capacity_ = 0, limit_ = 0, visits_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace sluice
