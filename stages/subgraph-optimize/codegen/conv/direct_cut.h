// How a direct convolution cuts the rows of an output slice into chunks.
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

// Returns the rows of the last of the plan's chunks.
int64_t last_chunk_rows(const ConvSpec& spec, const DirectConvPlan& plan);

// Returns, for one channel, the tile of what is left of so many pixels after whole tiles; 0
// vectors: nothing is left.
DirectTile remainder_tile(const DirectConvPlan& plan, int64_t positions);

// Returns the tiles that make up any chunk.
std::vector<DirectTile> direct_tiles(const ConvSpec& spec, const DirectConvPlan& plan,
                                     bool has_masks);

}  // namespace sluice
