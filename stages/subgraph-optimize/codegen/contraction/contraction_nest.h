// The loops around the register tiles, shared by MatMul and Conv: which block computes which batch
// entries, panels and row tiles, and in what order.
#pragma once

#include <array>

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct ContractionNest {
  int64_t batch = 1;
  int64_t rows = 1;     // of one batch entry
  int64_t columns = 1;  // of one batch entry
  ContractionPlan plan;

  // Is called once per batch entry of a block, before its tiles. May be empty.
  std::function<void(llvm::Value* entry)> enter;
  // Is called before the tiles that read panels [begin, end). May be empty.
  std::function<void(llvm::Value* begin, llvm::Value* end)> prepare_panels;
  // Returns the tile function's first argument for row tile `tile` of `rows` rows.
  std::function<llvm::Value*(llvm::Value* tile, int rows)> prepare_rows;
  // Calls the tile function for (is the row tile short, is the panel short).
  std::function<void(llvm::Value* a, llvm::Value* tile, llvm::Value* panel, bool row_remainder,
                     bool column_remainder)>
      call;
};

// The tile functions that a nest calls, by (is the row tile short, is the panel short); null where
// no such tile exists. `emit` writes the function of a shape.
using TileFunctions = std::array<std::array<llvm::Function*, 2>, 2>;
TileFunctions emit_tile_functions(const ContractionNest& nest,
                                  const std::function<llvm::Function*(const TileShape&)>& emit);

// Writes the loops into the kernel at the insert point.
void emit_nest(KernelBuilder& builder, const ContractionNest& nest);

}  // namespace sluice
