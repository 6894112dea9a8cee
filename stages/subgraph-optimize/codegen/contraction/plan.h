// The choice of a contraction's tile and of how its blocks share the work.
#pragma once

#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/cost.h"

namespace sluice {

// A contraction as the tiling sees it.
struct ContractionSize {
  int64_t rows = 1;       // of one batch entry: M, or n * oh * ow
  int64_t columns = 1;    // of one batch entry: N, or co / groups
  int64_t reduction = 1;  // K, or kh * kw * ci / groups
  int64_t batch = 1;      // batch entries, or groups
  int64_t row_bytes = 0;  // from one row of A to the next, usually; 0 when rows are copied
  // Work per row besides the products, in cycles: finding row pointers or copying rows.
  double row_cycles = 0;
  TileOperands operands = {};
  // What each block does once for each of its rows, and of its columns, before it multiplies: it
  // puts them in scratch as its tiles read them.
  double prepared_row_cycles = 0, prepared_column_cycles = 0;
};

// Returns how tiles read such operands. Halves that are widened in registers take one more: a mask
// for pairs of bf16, and LLVM widens f16 early.
TileOperands tile_operands(DType dtype, const DeviceProfile& profile);

ContractionPlan choose_plan(const ContractionSize& size, const DeviceProfile& profile);

// Chooses a plan for sizes known only when the kernel runs; `size` has the nominal ones. The tile
// is the best for many rows or columns where these are symbolic, since a kernel serves them all.
ContractionPlan choose_symbolic_plan(ContractionSize size, bool rows_are_symbolic,
                                     bool columns_are_symbolic, const DeviceProfile& profile);

}  // namespace sluice
