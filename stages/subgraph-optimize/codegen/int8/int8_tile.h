// The register tile of integer contractions: rows x (vectors * lanes) sums of 32 bits, kept in
// registers over the whole reduction.
#pragma once

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {

struct Int8Reduction {
  int64_t steps = 1;       // each of `unit` products
  int unit = 4;            // 4: bytes; 2: x as 16 bits
  int64_t row_stride = 0;  // of x, in bytes; steps are 4 bytes apart
  int64_t nr = 0;          // columns of a panel
};

// Writes an internal function void(x, w, y, row, x zero, sums, w zero, bias, operands...): x, w, y
// point at the tile, row (i64) is its first row, x zero is an i32; the arrays point at the tile's
// first column, and those that the numbers lack are never read.
llvm::Function* emit_int8_tile(KernelBuilder& builder, const TileShape& shape,
                               const Int8Reduction& reduction, const Int8Numbers& numbers,
                               const TileOutput& output);

}  // namespace sluice
