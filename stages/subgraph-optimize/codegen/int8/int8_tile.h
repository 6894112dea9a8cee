// The register tile of integer contractions: rows x (vectors * lanes) sums of 32 bits, kept in
// registers over the whole reduction.
#pragma once

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {

struct Int8Reduction {
  int64_t steps = 1;       // each of `unit` products; 0: an argument of the tile function
  int unit = 4;            // 4: bytes; 2: x as 16 bits, less its zero point
  int64_t row_stride = 0;  // of x, in bytes; steps are 4 bytes apart
  int64_t nr = 0;          // columns of a panel
  // w too is of 16 bits and less its zero points; the unit is 2.
  bool is_centered = false;
  // Sums continue in those that y has, where the tile function's argument says so.
  bool continues = false;
};

// The parameters of a tile function. x, w, y point at the tile, row (i64) is its first row, x zero
// is an i32; row sums are an i32 for each row of the tile: the sum of its x; the arrays sums, w
// zero and bias point at the tile's first column. What the numbers, or the form of the operands, do
// not need is never read. steps (i64) is read where the reduction has none, continues (i32) is -1
// or 0, symbols are those of the kernel, active (i64) counts the lanes of the last vector where the
// shape has 0: its arrays then have whole vectors. Pointers to the epilogue's operands follow.
enum Int8Argument : unsigned {
  kX,
  kW,
  kY,
  kRow,
  kXZero,
  kRowSums,
  kSums,
  kWZero,
  kBias,
  kSteps,
  kContinues,
  kSymbols,
  kActive,
  kOperands
};

// Returns arguments before kOperands that say nothing: null and 0.
IrValues neutral_int8_arguments(KernelBuilder& builder);

// Writes an internal function with these parameters.
llvm::Function* emit_int8_tile(KernelBuilder& builder, const TileShape& shape,
                               const Int8Reduction& reduction, const Int8Numbers& numbers,
                               const TileOutput& output);

}  // namespace sluice
