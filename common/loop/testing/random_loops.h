// Random loop graphs that verify, with operands to run them on. For tests only: what a generator
// makes of a graph must compute what the interpreter computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice::loop {

struct RandomLoops {
  LoopGraph graph;
  std::vector<int64_t> sizes;                    // for interpret
  std::vector<std::vector<std::byte>> operands;  // all bytes of each buffer that is not local
  // By operand: how much elements may differ from the interpreter's, absolutely, when sums are in
  // another order, products are fused with sums, and functions have errors of a few ulps. 0: the
  // same bits. Meaningful for written operands.
  std::vector<double> tolerance;
};

// Returns the same graph and operands for the same seed. There are no faults in it, no NaN and no
// infinities, every index is in range, and whatever is sensitive to small errors (comparisons,
// casts to integers, positions of maxima) is of numbers without errors.
RandomLoops random_loops(uint32_t seed);

// Returns such loops whose floats in memory are sometimes NaN, infinite or -0.
RandomLoops random_special_loops(uint32_t seed);

}  // namespace sluice::loop
