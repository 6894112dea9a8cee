// Packs an operand of a contraction into panels: what its register tiles read.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "common/loop/loop_graph.h"

namespace sluice::loop {

struct Packing {
  int64_t batch = 1;    // matrices, or groups
  int64_t columns = 1;  // of each
  // The extents of the reduction's axes in the operand, and which of these axes comes first,
  // second, … in a panel.
  std::vector<int64_t> reduction;
  std::vector<size_t> order;
  // The operand is [batch][columns][reduction…], otherwise [batch][reduction…][columns].
  bool columns_first = false;
  int64_t nr = 1;  // columns of a panel
  // Whether two steps of the reduction lie side by side: [batch][panels][reduction in order / 2]
  // [nr][2]. The axis that comes last in order has an even extent, unless it is the only one; of an
  // odd number of steps the last one then has 0 beside it.
  bool in_pairs = false;
  DType operand = DType::kF32, packed = DType::kF32;  // elements
  auto operator<=>(const Packing&) const = default;
};

// Returns loops whose operands are the packed one, as [batch][panels][reduction in order][nr], and
// the operand. The packed one has the logical dims [batch, reduction, columns rounded
// up to whole panels]; columns past the end are zero.
LoopGraph packing_loops(const Packing& packing);

}  // namespace sluice::loop
