// Copies strided columns into the packed panels that the register tiles read.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"

namespace sluice {

// A strided operand to pack; sizes and strides may be symbolic.
struct TileSource {
  llvm::Value* first = nullptr;     // element of the panel's first column, reduction index 0
  std::vector<PackAxis> reduction;  // outermost first
  PackAxis columns;                 // of the whole operand, not of the panel
  int64_t nr = 1;
  bool fill = true;  // columns past the end become zero; otherwise they stay undefined
};

// Writes the code of panel[reduction...][nr] = columns [panel * nr, (panel + 1) * nr) of the
// source.
// In general it is the loops below; panels that are contiguous along the reduction or the columns,
// and need no filling, are copied in vectors.
//
//   for reduction axes:
//     for j < existing columns: panel[k][j] = source[k][j]
//     for j in [existing columns, nr): panel[k][j] = 0
void emit_pack_panel(KernelBuilder& builder, const TileSource& source, llvm::Value* panel,
                     llvm::Value* to);

}  // namespace sluice
