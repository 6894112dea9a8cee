// The planners of offsets: each places all buffers of one arena by itself, so that those that are
// live at the same time never overlap (dynamic storage allocation, NP-hard). plan_offsets.cc has
// the table of them and keeps the smallest arena. All are deterministic: the same buffers get the
// same offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

struct OffsetPlan {
  std::vector<uint64_t> offsets = {};  // by buffer; empty where there is no plan
  uint64_t arena_bytes = UINT64_MAX;
  uint64_t pairs = 0;  // how often one buffer was compared with another, or with a group of them
  uint64_t bound = 0;  // no arena is smaller, as the planner has found out
};

struct PlanRequest {
  std::vector<Buffer> buffers;         // with dense tasks (dense_tasks.h)
  uint64_t enough = 0;                 // an arena of this size is as good as a smaller one
  uint64_t best_bytes = UINT64_MAX;    // only a smaller arena is of use
  uint64_t visits = 0;                 // limit of the exact search
  uint64_t max_pairs = 2'500'000'000;  // limit of each best fit but that by time
  // For best fit alone: no buffer of up to this size lies across a multiple of it, larger ones
  // begin at one. 0: anywhere.
  uint64_t sub_memory_bytes = 0;
};

// Slots of a sequence of buffers (slots.h): any free slot is taken, and has the size of its largest
// buffer. O(B log B).
OffsetPlan plan_max_slots(const PlanRequest& request);

// The same with slots of powers of two from 512 bytes, which only buffers of that class take; above
// 8 MiB each size is a class of its own. O(B log B).
OffsetPlan plan_binary_slots(const PlanRequest& request);

// Buffers one by one, each at the best gap among those placed that are live with it: the largest
// first, or those of the largest size times life, the longest life, or as they begin. By time takes
// O(B log B) and always has a plan; the others none where they exceed a limit of the request: they
// look at up to P pairs of buffers live together, or at B^2 / 32 groups of buffers.
OffsetPlan plan_best_fit_by_size(const PlanRequest& request);
OffsetPlan plan_best_fit_by_area(const PlanRequest& request);
OffsetPlan plan_best_fit_by_life(const PlanRequest& request);
OffsetPlan plan_best_fit_by_time(const PlanRequest& request);

// Branch and bound (capacity_search.h) for an arena of `enough` bytes, which is no less than the
// live bytes, or else the smallest one below best_bytes. Exact where it ends; it stops when it has
// visited as many buffers as it may. Has no plan where it finds none, nor for more than 2,048
// buffers.
OffsetPlan plan_exact(const PlanRequest& request);

}  // namespace sluice
