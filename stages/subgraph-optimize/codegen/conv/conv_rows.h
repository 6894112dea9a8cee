// The sources of the rows of an implicit convolution matrix (row = output pixel, column = (kh, kw,
// ci)), from the cheapest:
//
//   kDirect    is for a 1x1 kernel over every pixel: the input is the matrix.
//   kPointers  is a table of one pointer per (kernel position, row of the tile), into the input or,
//              outside it, to a page of zeros.
//   kCopied    is rows copied into scratch, for so few channels that a pointer for each run would
//              cost more than the run, and for halves of which a kernel reads no pixel twice.
//
// Halves are widened into scratch, once for all tiles and panels of a chunk (nest.h): with kDirect
// and kCopied the chunk's rows, with kPointers the lines of the input that it reads. Where one
// instruction takes pairs of bf16 (emit/bf16_pairs.h), these are not widened.
//
// The first two make no halo copies, and tiles extend over row ends and images, so that 7x7 images
// still fill them.
#pragma once

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/contraction/plan.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

enum class ConvRows { kDirect, kPointers, kCopied };

ConvRows choose_conv_rows(const ConvSpec& spec, const DeviceProfile& profile);
int64_t conv_pixel_stride(const ConvSpec& spec);  // of x

// Returns the part of TileReduction that follows from the strategy. nr: elements of one packed row
// of weights.
TileReduction conv_reduction(const ConvSpec& spec, ConvRows strategy, int tile_rows, int64_t nr,
                             const DeviceProfile& profile);
// Returns what a chunk's rows in scratch cost; none where tiles read x.
PreparedRows conv_prepared_rows(const ConvSpec& spec, ConvRows strategy,
                                const DeviceProfile& profile);
// Returns bytes.
uint64_t conv_row_scratch(const ConvSpec& spec, ConvRows strategy, int tile_rows,
                          int64_t chunk_tiles, const DeviceProfile& profile);

// Positions of a phase that are not computed (ConvPhases); null without phases.
struct PhaseShift {
  llvm::Value *top = nullptr, *left = nullptr;
};

// Rows [first, first + count) of the matrix. x points at the group's first channel.
struct ConvRowRange {
  llvm::Value *x, *first, *count;
  PhaseShift shift = {};
};

// Writes the code that prepares a chunk's rows, and returns what their tiles read in place of x.
llvm::Value* emit_conv_chunk(KernelBuilder& builder, const ConvSpec& spec, ConvRows strategy,
                             const ConvRowRange& rows, int tile_rows);

// Writes the code that finds a tile's rows in x, or in what a chunk has in its place, and returns
// the tile function's first argument.
llvm::Value* emit_conv_rows(KernelBuilder& builder, const ConvSpec& spec, ConvRows strategy,
                            const ConvRowRange& rows, int tile_rows);

}  // namespace sluice
