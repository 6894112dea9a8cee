// The rows of an implicit convolution matrix of bytes, copied into scratch as the tiles read them:
// without sign (moved by 128) for products of four, widened to 16 bits for products of two.
// Positions outside the image become the zero point.
#pragma once

#include "stages/subgraph-optimize/codegen/int8/int8_emitter.h"

namespace sluice {

// Writes the code that copies rows [first, first + rows) to scratch. x points at the group's first
// channel; x_zero is an i32 in the range of the copied elements.
void emit_int8_rows(KernelBuilder& builder, const Int8ConvSpec& spec, const Int8Plan& plan,
                    llvm::Value* x, llvm::Value* x_zero, llvm::Value* first, llvm::Value* rows);

}  // namespace sluice
