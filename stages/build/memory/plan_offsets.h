// Where buffers lie in one arena, so that buffers alive at the same time never overlap: the dynamic
// storage allocation problem, NP-hard; see M. D. Moffitt, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023, for the setting.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

// A buffer is alive in the tasks [first, last], both included. bytes: a multiple of the alignment.
struct Buffer {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t bytes = 0;
};

struct OffsetPlan {
  std::vector<uint64_t> offsets;  // by buffer
  uint64_t arena_bytes = 0;
  uint64_t pairs = 0;  // of buffers alive together that were looked at, over all attempts
};

// Places buffers one by one, each at the best gap among the buffers alive with it, in several
// orders (by size, by size times life, by life, by time), and keeps the smallest arena; while that
// is above the bound and buffers are few, tries changes of the best order, always the same ones.
// O((B + P) log B) per order, P the pairs of buffers alive together.
OffsetPlan plan_offsets(const std::vector<Buffer>& buffers);

// The most bytes alive in any task, and the first such task: no arena can be smaller. Above 2^64 -
// 1 that number.
struct LivePeak {
  uint64_t bytes = 0;
  int64_t task = 0;
};
LivePeak live_peak(const std::vector<Buffer>& buffers);

}  // namespace sluice
