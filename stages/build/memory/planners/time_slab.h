// The placed buffers of a slab of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stages/build/memory/planners/runs.h"

namespace sluice {

struct PlacedBuffer {
  int32_t first, last;  // tasks
  uint64_t begin, end;  // bytes of the arena
};

// The buffers that are live in some of the slab's tasks, by offset, in groups of a few dozen. A
// search passes over most groups: it knows how solid a group is in the tasks between two points of
// a grid, and a buffer that lives longer than that finds no larger gaps there. A life without a
// point is between two of them, and what is live at both is live all the time.
class TimeSlab {
 public:
  // Of the tasks [first, last].
  TimeSlab(int32_t first, int32_t last);

  void add(const PlacedBuffer& buffer);
  // Adds the buffers that are live in some task of [first, last], one of which is the slab's.
  // Returns how many buffers and groups it has looked at.
  uint64_t find(int32_t first, int32_t last, Runs& runs);

 private:
  static constexpr size_t kPoints = 17;

  struct Group {
    std::vector<PlacedBuffer> buffers = {};
    uint64_t end = 0;  // of the buffers
    uint32_t id = 0;
    uint32_t version = 1;  // counts changes of its buffers
  };
  // Buffers that begin up to the point `high` and end from the point `low` on.
  struct Points {
    size_t low, high;
  };
  // What such buffers of a group occupy. It still holds when others were added, or some are in
  // another group since a split: none of that makes gaps larger.
  struct Solid {
    uint64_t begin = 0, end = 0;
    uint64_t max_gap = UINT64_MAX;  // between them; without any buffers, this number
    uint32_t version = 0;           // of the group
  };
  class Scan;

  void split(size_t index);
  void prefetch(size_t index) const;
  std::vector<Solid>& solids_of(Points points);
  Solid find_solid(const Group& group, Points points) const;

  std::array<int32_t, kPoints> points_;     // tasks, from the first to the last
  std::vector<Group> groups_;               // by offset
  std::vector<std::vector<Solid>> solids_;  // by points and id of a group, once they are asked for
  uint32_t ids_ = 0;
};

}  // namespace sluice
