// Copies rows of A into scratch where a tile cannot read them as they lie: f16 is widened once
// instead of in every tile of a row, and elements apart become neighbours.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/elements.h"

namespace sluice {

struct RowSource {
  llvm::Value* first = nullptr;  // element 0 of the first row
  Extent row_stride, k_stride, length;
};

// Emits for i < rows, k < length: to[i * to_stride + k] = the source's row i, element k. Nothing
// past the end of a row is read or written.
void emit_row_copies(KernelBuilder& builder, Elements from, const RowSource& source,
                     llvm::Value* rows, Elements to, llvm::Value* target, int64_t to_stride);

// Emits the copy of `count` elements that are neighbours; from null, of zeros. The code for a fixed
// number is written out in part.
void emit_run_copy(KernelBuilder& builder, Elements from, llvm::Value* source, const Extent& count,
                   Elements to, llvm::Value* target);

}  // namespace sluice
