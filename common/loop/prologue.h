// Lowers what computes the first operand of a contraction, as the rows of a matrix: its kernel
// computes the rows of a tile before it reads them.
#pragma once

#include <vector>

#include "common/loop/lowering.h"

namespace sluice::loop {

struct LoweredPrologue {
  // The buffers are the matrix f32[rows, columns], then what is read. The first axis of every nest
  // are the rows of the matrix; all nests go over all of them, and what one computes of a row is
  // independent of other rows.
  LoopGraph loops;
  std::vector<const Value*> reads;  // of the graph that the Fused node is in
};

// Lowers a value of the body of a Fused node. Its axis `columns` are the columns of the matrix,
// whose number is known; all others, in order, are its rows. Error: kNotLowerable when an element
// is not computed from single elements of what is read.
Result<LoweredPrologue> lower_prologue(const Node& fused, const Value& value, size_t columns);
// The same for the result of a node.
Result<LoweredPrologue> lower_prologue(const Node& node, size_t columns);

}  // namespace sluice::loop
