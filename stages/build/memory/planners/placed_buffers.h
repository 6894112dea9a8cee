// The buffers that have an offset, while others are placed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/omfile/buffer.h"
#include "stages/build/memory/planners/runs.h"
#include "stages/build/memory/planners/time_slab.h"

namespace sluice {

// Time is cut into slabs of about twice the mean life, so that most buffers lie in one or two of
// them, and those of a slab are mostly live together.
class PlacedBuffers {
 public:
  // buffers: all that will be placed, with dense tasks (dense_tasks.h).
  explicit PlacedBuffers(const std::vector<Buffer>& buffers);

  void add(const Buffer& buffer, uint64_t offset);
  // Returns the ranges of those that are live together with the buffer, ascending. What lies
  // between two of them is large enough for it.
  std::vector<Runs::Range> find(const Buffer& buffer);
  // Returns how many buffers, or groups of them, it has looked at.
  uint64_t visits() const { return visits_; }

 private:
  std::span<TimeSlab> slabs_of(const Buffer& buffer);

  int64_t slab_tasks_;
  std::vector<TimeSlab> slabs_;
  uint64_t visits_ = 0;
};

}  // namespace sluice
