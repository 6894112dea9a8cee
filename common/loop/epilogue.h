// Lowers the epilogue of a contraction: what is computed of each of its sums before it is stored.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/loop/lowering.h"

namespace sluice::loop {

// How a contraction gives the elements that the nodes after it read. The values are those of the
// body of a Fused node, or of the graph for a contraction that stands alone.
struct EpilogueRules {
  const Value* sums = nullptr;    // of which an element follows from one sum
  const Value* result = nullptr;  // from which an element of what is stored follows
  DType sum = DType::kF32;
  DType stored = DType::kF32;
  // Returns element `index` of `sums`.
  std::function<Result<InstructionId>(Lowering&, const Index& index, InstructionId sum)> begin;
  // Returns what is stored from an element of `result`; null: the element itself.
  std::function<InstructionId(Lowering&, InstructionId)> finish = nullptr;
};

// An operand that the epilogue reads.
struct EpilogueRead {
  const Value* value = nullptr;
  // By axis of the result: the operand's axis that is walked with it, nothing where the operand is
  // the same along the axis.
  std::vector<std::optional<size_t>> axes;
};

struct LoweredEpilogue {
  // What is computed at one point: all buffers have rank 0. They are the stored element, the sum,
  // and one for each read, in order.
  LoopGraph loops;
  std::vector<EpilogueRead> reads;
};

// Errors: kNotLowerable when a node after the contraction computes an element from others than
// those at the same place.
Result<LoweredEpilogue> lower_epilogue(const Node& node, const EpilogueRules& rules);

}  // namespace sluice::loop
