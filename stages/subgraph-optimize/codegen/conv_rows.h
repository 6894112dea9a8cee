// Where the rows of an implicit convolution matrix come from: row = output pixel, column = (kh, kw,
// ci). Three ways, from cheapest:
//
//   kDirect    a 1x1 kernel over every pixel: the input is the matrix.
//   kPointers  a table of one pointer per (kernel position, row of the tile), into the input or,
//   outside it, to a page of zeros. kCopied    rows copied into scratch: for so few channels that a
//   pointer for each run would cost more than the run.
//
// The first two make no halo copies, and tiles run over row ends and images, so that 7x7 images
// still fill them.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/microkernel.h"

namespace sluice {

enum class ConvRows { kDirect, kPointers, kCopied };

ConvRows choose_conv_rows(const ConvSpec& spec);
int64_t conv_pixel_stride(const ConvSpec& spec);  // of x

// The part of TileReduction that follows from the way; nr: floats of one packed row of weights.
TileReduction conv_reduction(const ConvSpec& spec, ConvRows strategy, int tile_rows, int64_t nr);
uint64_t conv_row_scratch(const ConvSpec& spec, ConvRows strategy, int tile_rows);  // bytes

// Writes the code that prepares rows [first, first + rows) and answers the tile function's first
// argument. x: at the group's first channel.
llvm::Value* emit_conv_rows(KernelBuilder& builder, const ConvSpec& spec, ConvRows strategy,
                            llvm::Value* x, llvm::Value* first, llvm::Value* rows, int tile_rows);

}  // namespace sluice
