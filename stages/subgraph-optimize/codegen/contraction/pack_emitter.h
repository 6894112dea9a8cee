// Copies columns of B into the packed panels that the register tiles of a MatMul read.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// A strided matrix to pack; sizes and strides may be symbolic.
struct PanelSource {
  llvm::Value* first = nullptr;  // element of the panel's first column, row 0
  Extent rows, row_stride;
  Extent columns, column_stride;  // of the whole matrix, not of the panel
  int64_t nr = 1;
  DType dtype = DType::kF32;
  bool in_pairs = false;  // only for bf16
};

// Writes the code of panel[rows][nr] = columns [panel * nr, (panel + 1) * nr) of the source, as
// f32; a panel in pairs of rows is [ceil(rows / 2)][nr][2] of bf16 (emit/bf16_pairs.h). What lies
// past the last column is not defined. Panels whose rows or columns are contiguous are copied in
// vectors; others by
//
//   for k < rows: for j < existing columns: panel[k][j] = source[k][j]
void emit_pack_panel(KernelBuilder& builder, const PanelSource& source, llvm::Value* panel,
                     llvm::Value* to);

}  // namespace sluice
