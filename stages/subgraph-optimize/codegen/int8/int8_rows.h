// The rows of an implicit convolution matrix of bytes, copied into scratch as the tiles read them:
// bytes without sign (moved by 128), or 16 bits less the zero point. Positions outside the image
// become the zero point.
#pragma once

#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {

// How rows are copied.
struct Int8RowCopies {
  bool is_centered = false;  // 16 bits; otherwise bytes
  int64_t elements = 0;      // of a row: the reduction, filled up with 0
  int64_t stride = 0;        // from one copy to the next, in bytes

  int64_t element_bytes() const { return is_centered ? 2 : 1; }
};

// Writes the code that copies rows [first, first + rows) to scratch. x points at the group's first
// channel; x_zero is an i32 in the range of x, for copies of bytes moved like them.
void emit_int8_rows(KernelBuilder& builder, const Int8ConvSpec& spec, const Int8RowCopies& copies,
                    llvm::Value* x, llvm::Value* x_zero, llvm::Value* first, llvm::Value* rows);

// Rows as tiles read them.
struct Int8Rows {
  llvm::Value* first = nullptr;
  llvm::Value* count = nullptr;  // i64
  int64_t stride = 0;            // from one to the next, in bytes
  llvm::Value* steps = nullptr;  // i64, of `unit` elements each
  int unit = 4;
};
// Writes the code that stores the sum of each row's elements as an i32.
void emit_int8_row_sums(KernelBuilder& builder, const Int8Rows& rows, llvm::Value* sums);

}  // namespace sluice
