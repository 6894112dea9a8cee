// The choice of a contraction's tile and of how its blocks share the work.
#pragma once

#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/cost.h"

namespace sluice {

// Rows that are copied or widened into scratch before tiles read them, once for all panels of a
// block.
struct PreparedRows {
  int64_t bytes = 0;   // of a row in scratch; 0: rows are read where they lie
  double cycles = 0;   // for a row
  int64_t shared = 0;  // rows more that a chunk prepares, which the next one prepares too
};

// A contraction as the tiling sees it.
struct ContractionSize {
  int64_t rows = 1;       // of one batch entry: M, or n * oh * ow
  int64_t columns = 1;    // of one batch entry: N, or co / groups
  int64_t reduction = 1;  // K, or kh * kw * ci / groups
  int64_t batch = 1;      // batch entries, or groups
  int64_t row_bytes = 0;  // from one row of A to the next, usually; 0 when rows are copied
  // Work per row and panel besides the products, in cycles: finding row pointers.
  double row_cycles = 0;
  TileOperands operands = {};
  // What each block does once for each of its rows, and of its columns, before it multiplies: it
  // puts them in scratch as its tiles read them.
  double prepared_row_cycles = 0, prepared_column_cycles = 0;
  int64_t element_bytes = 4;  // of the panels
  PreparedRows prepared = {};
};

// Returns how tiles read such operands. Halves that are widened in registers take one more: a mask
// for pairs of bf16, and LLVM widens f16 early.
TileOperands tile_operands(DType dtype, const DeviceProfile& profile);

// Returns the row tiles whose rows are prepared together, where rows are prepared.
int64_t choose_chunk_tiles(const ContractionSize& size, const ContractionPlan& plan,
                           const DeviceProfile& profile);

ContractionPlan choose_plan(const ContractionSize& size, const DeviceProfile& profile);

// Chooses a plan for sizes known only when the kernel runs; `size` has the nominal ones. The tile
// is the best for many rows or columns where these are symbolic, since a kernel serves them all.
ContractionPlan choose_symbolic_plan(ContractionSize size, bool rows_are_symbolic,
                                     bool columns_are_symbolic, const DeviceProfile& profile);

}  // namespace sluice
