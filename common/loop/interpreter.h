// Executes loop graphs on memory, one element after the other: what they mean, for tests of what is
// generated from them. What the header of loop graphs leaves open is settled here:
//
//   Within an iteration of a sweep, instructions are evaluated in order, then stores happen in
//   order, then all accumulators take their next values at once. So an instruction reads the value
//   of an accumulator of its own sweep from before the iteration, and memory as the iterations and
//   sweeps before have left it.
//
//   Sums and products are of the accumulator's dtype and in the order of iterations; a generator
//   may take any order.
//
//   kArgMax and kArgMin take the first iteration's value and position whatever they are (so a NaN
//   there stays), and later ones that are larger (or equal: is_last). The position of a sweep
//   without iterations is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {

// `graph` verifies (verify.h). `sizes` are all dims of all operands, in order: what the index of a
// kSize symbol counts. `operands` are the memories of the buffers that are not local, in order,
// stored_elements of each. Errors: kBadShape when sizes and operands do not fit the graph;
// kBadValue for a fault (an index out of range, an integer divided by zero); kBadGraph when an
// element outside a buffer is read or written. After an error the results are unspecified.
Result<void> interpret(const LoopGraph& graph, std::span<const int64_t> sizes,
                       std::span<std::byte* const> operands);

}  // namespace sluice::loop
