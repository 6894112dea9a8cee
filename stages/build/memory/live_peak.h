// The lower bound of every arena.
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// The maximum of live bytes over all tasks, and the first task that has it: no arena can be
// smaller. Above 2^64 - 1 bytes is that number.
struct LivePeak {
  uint64_t bytes = 0;
  int64_t task = 0;
};
// O(B log B); tasks may be any numbers.
LivePeak live_peak(const std::vector<Buffer>& buffers);

}  // namespace sluice
