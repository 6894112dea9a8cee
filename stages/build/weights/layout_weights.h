// The weights region contains every constant that a task reads, once each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/module.h"
#include "stages/build/tasks/tasks.h"

namespace sluice {

struct WeightLayout {
  std::vector<SegmentId> segments;  // in order of first use
  std::vector<uint64_t> offsets;    // by SegmentId; multiples of 64
  uint64_t bytes = 0;
};

// Lays out the constants that tasks read or that are outputs, after those already there.
void add_weights(const Module& module, const TaskList& list, WeightLayout& layout);
// Lays out one constant.
void add_weight(const Module& module, SegmentId segment, WeightLayout& layout);

}  // namespace sluice
