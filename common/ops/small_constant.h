// The elements of small constants, for inference.
#pragma once

#include <optional>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Returns the elements of a constant of at most ValueFacts::kMaxElements elements and rank at most
// 1: integers, bools, or floats that are all whole numbers below 2^24. Returns nothing for other
// constants, or when the bytes are not in the graph.
std::optional<std::vector<int64_t>> read_small_integers(const Module& module, SegmentId id);
// Returns the same for floats of 8 to 64 bits, E8M0 apart.
std::optional<std::vector<double>> read_small_reals(const Module& module, SegmentId id);

// Returns whether the value is a constant of one element whose bytes are in the graph: bodies and
// kernels have it as a number of their own.
bool is_small_scalar(const Value& value);

}  // namespace sluice
