// A buffer: a piece of the arena that contains values during a range of tasks.
#pragma once

#include <cstdint>

namespace sluice {

// Live in the tasks [first, last], both included. bytes is a multiple of the alignment.
struct Buffer {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // within the arena, once the buffer is placed
};

}  // namespace sluice
