// Assigns offsets in one arena to buffers while a model runs: fast rather than optimal.
// sluice-build's plan_offsets takes more time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// Walks over time: a buffer that begins takes the smallest hole that is large enough ("best fit",
// Knuth, TAOCP 1, 2.5), the largest of a task first; a buffer that ended leaves a hole, which joins
// its neighbours. Buffers that are live at the same time never overlap. Returns the bytes of the
// arena. O(n log n).
uint64_t place_buffers(std::span<Buffer> buffers);

}  // namespace sluice
