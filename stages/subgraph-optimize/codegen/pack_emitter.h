// Copies strided columns into the packed panels that the register tiles read.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"

namespace sluice {

// Sizes and strides may be symbolic.
struct TileSource {
  llvm::Value* first = nullptr;     // element of the panel's first column, reduction index 0
  std::vector<PackAxis> reduction;  // outermost first
  PackAxis columns;                 // of the whole operand, not of the panel
  int64_t nr = 1;
  bool fill = true;  // columns past the end become zero; else they stay undefined
};

// panel[reduction...][nr] = columns [panel * nr, (panel + 1) * nr) of the source.
void emit_pack_panel(KernelBuilder& builder, const TileSource& source, llvm::Value* panel,
                     llvm::Value* to);

}  // namespace sluice
