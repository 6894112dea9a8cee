// What is known of the numbers of a nest before it runs.
#pragma once

#include <limits>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice::loop {

// Every number is within [low, high], or NaN where that may be.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
};

// Returns one range for each instruction of the nest, in the order of evaluation; an instruction of
// which nothing is known has all numbers. Integers of more than 32 bits are not followed.
std::vector<ValueRange> value_ranges(const Nest& nest);

}  // namespace sluice::loop
