// The placement of buffers in one arena, so that buffers live at the same time never overlap: the
// dynamic storage allocation problem, NP-hard; see M. D. Moffitt, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023, for the setting.
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

struct OffsetPlan {
  std::vector<uint64_t> offsets;  // by buffer
  uint64_t arena_bytes = 0;
  uint64_t pairs = 0;  // pairs of buffers live together that were compared, over all attempts
};

// Places buffers one by one, each at the best gap among the buffers live with it, in several orders
// (by size, by size times life, by life, by time), and keeps the smallest arena; while that is
// above the bound and there are few buffers, tries changes of the best order, always the same ones.
// O((B + P) log B) per order, P the pairs of buffers live together.
OffsetPlan plan_offsets(const std::vector<Buffer>& buffers);

// The maximum of live bytes over all tasks, and the first task that has it: no arena can be
// smaller. Above 2^64 - 1 bytes is that number.
struct LivePeak {
  uint64_t bytes = 0;
  int64_t task = 0;
};
LivePeak live_peak(const std::vector<Buffer>& buffers);

}  // namespace sluice
