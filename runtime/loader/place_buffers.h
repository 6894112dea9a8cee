// Where buffers lie in one arena, found while a model runs: quick rather than the best.
// sluice-build's plan_offsets takes its time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

// Holds something in the tasks [first, last], both included. bytes: a multiple of the alignment.
struct PlacedBuffer {
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // the answer
};

// Walks over time: a buffer that begins takes the smallest hole that holds it ("best fit", Knuth,
// TAOCP 1, 2.5), the largest of a task first; a buffer that ended leaves a hole, which joins its
// neighbours. Buffers that hold something at the same time never overlap. Answers the bytes of the
// arena. O(n log n).
uint64_t place_buffers(std::span<PlacedBuffer> buffers);

}  // namespace sluice
