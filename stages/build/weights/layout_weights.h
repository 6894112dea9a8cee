// The weights region: every constant that a step reads, once each.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/module.h"
#include "stages/build/tasks/steps.h"

namespace sluice {

struct WeightLayout {
  std::vector<SegmentId> segments;  // in order of first use
  std::vector<uint64_t> offsets;    // by SegmentId; multiples of 64
  uint64_t bytes = 0;
};

// Lays out the constants that steps read or that are model outputs.
WeightLayout layout_weights(const Graph& root, const StepList& list);

}  // namespace sluice
