// What is known of the real numbers of a nest before it runs.
#pragma once

#include <limits>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice::loop {

// Every number is within [low, high], or NaN where that may be.
struct RealRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
};

// Returns the range of each instruction's result, by instruction. One of which nothing is known, or
// that is no f32 or f64, has all numbers.
std::vector<RealRange> real_ranges(const Nest& nest);

}  // namespace sluice::loop
