// The weights region contains every constant that a task reads, once each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

struct WeightLayout {
  std::vector<SegmentId> segments;  // in the order of their offsets
  std::vector<uint64_t> offsets;    // by SegmentId; multiples of 64; UINT64_MAX: none
  uint64_t bytes = 0;
};

// Returns the layout that the buffers of the graphs say. Returns kVerifyFailed when a constant has
// two places, or does not follow the one before it, which a schedule that was edited may say.
Result<WeightLayout> read_layout(const Module& module, const std::vector<Graph*>& graphs);
// Lays out one constant, behind those already there.
void add_weight(const Module& module, SegmentId segment, WeightLayout& layout);

}  // namespace sluice
