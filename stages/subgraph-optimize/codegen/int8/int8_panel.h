// Writes the panels that integer tiles read (int8_tile.h) to scratch: columns of a matrix of bytes
// are packed, packed bytes are widened.
#pragma once

#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {

// Some rows of a matrix of bytes, from a panel's first column on. One stride is 1.
struct Int8PanelSource {
  llvm::Value* first = nullptr;    // its first byte
  llvm::Value* rows = nullptr;     // i64
  llvm::Value* columns = nullptr;  // i64: those that exist, which may be more than a panel's
  Extent row_stride, column_stride;
  bool is_signed = false;
  llvm::Value* zero = nullptr;  // a byte, or one for each column; null: all are 0
  bool has_zero_per_column = false;
};

// A panel in scratch.
struct Int8Panel {
  llvm::Value* weights = nullptr;
  // With a unit of 4: i32[nr] each, as in Int8ConvSpec. With a unit of 2 weights are centered.
  llvm::Value *sums = nullptr, *zeros = nullptr;
  int lanes = 0;
  int64_t nr = 0;
  int unit = 4;
};

// Writes the code that fills a panel. Columns past the end are copies of the last one; the rows
// that fill up the last step are 0, or anything where weights are centered.
void emit_int8_panel(KernelBuilder& builder, const Int8PanelSource& source, const Int8Panel& panel);

// Packed panels of signed bytes, as in Int8ConvSpec with a unit of 4.
struct PackedPanel {
  llvm::Value* weights = nullptr;
  llvm::Value* zeros = nullptr;    // i32 for each column; null: all are 0
  llvm::Value* columns = nullptr;  // i64: those that exist, which may be more than a panel's
  int64_t steps = 0;               // of four products
};
// Writes the code that fills a panel with a unit of 2: two of its steps are one of the packed
// panel.
void emit_widened_panel(KernelBuilder& builder, const PackedPanel& source, const Int8Panel& panel);

// Returns, as i1, whether so many bytes (a multiple of a vector's) are narrow: at most 64, so that
// the sum of two products with bytes without sign has 16 bits.
llvm::Value* emit_are_narrow(KernelBuilder& builder, llvm::Value* weights, llvm::Value* bytes,
                             int lanes);

}  // namespace sluice
