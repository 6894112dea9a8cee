// How a direct convolution cuts its output into chunks of rows, and these into tiles of pixels.
#pragma once

#include "stages/subgraph-optimize/codegen/conv/direct_tile.h"

namespace sluice {

struct DirectCut {
  llvm::Value *chunk_rows = nullptr, *chunks = nullptr;
  llvm::Value* pieces = nullptr;  // of a row; null: rows are whole
  PlaneLayout layout;             // of whole chunks and pieces
};

// Returns the plan's chunks, for fixed sizes.
DirectCut planned_cut(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
                      const DirectGeometry& geometry);

// Computes chunks of (nearly) equally many rows, where there is at least one row and column. The
// last ones may be shorter, or empty.
DirectCut computed_cut(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
                       const DirectGeometry& geometry);

// A chunk of the rows of one output slice; sizes that are known are constants.
struct DirectChunk {
  llvm::Value *image, *group, *slice, *first_row;
  llvm::Value* part;                    // of the channel tiles
  PlaneLayout layout;                   // whose columns are those of the piece
  llvm::Value* first_column = nullptr;  // of a piece; null: the chunk has all columns
  llvm::Value* rows = nullptr;
  llvm::Value* first_pixel = nullptr;  // of the output's channel
};

// Emits the loop over the chunks of the block.
void for_each_chunk(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
                    const DirectCut& cut,
                    const std::function<void(const DirectChunk& chunk)>& body);

// Emits the loops over the tiles of pixels of a chunk, each for one channel.
void for_each_pixel_tile(KernelBuilder& builder, const DirectConvPlan& plan,
                         const DirectChunk& chunk,
                         const std::function<void(llvm::Value* pixel, const DirectTile& tile,
                                                  llvm::Value* active)>& body);

// Returns the tiles that make up any chunk.
std::vector<DirectTile> direct_tiles(const ConvSpec& spec, const DirectConvPlan& plan,
                                     const DirectGeometry& geometry, bool has_masks);

}  // namespace sluice
