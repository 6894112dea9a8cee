// The loops around the register tiles, shared by MatMul, Conv and the integer kernels: which block
// computes which batch entries, panels and row tiles, and in what order.
//
// With fixed sizes, the plan says how blocks share the work. Where a size is known only when the
// kernel runs, its blocks are spread over batch entries, then row tiles and panels, so that the
// same code serves one row (blocks share the panels) and thousands. Results do not depend on the
// number of blocks.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct ContractionNest {
  // The position of one tile: its first row, its panel, and the columns of the panel before it.
  struct Place {
    llvm::Value *row, *panel, *column;
    llvm::Value* active;  // lanes of its last vector
  };

  Extent batch = 1;
  Extent rows = 1;     // of one batch entry
  Extent columns = 1;  // of one batch entry
  Extent reduction = 1;
  ContractionPlan plan;
  int64_t chunk_tiles = 1;   // row tiles whose rows are prepared together
  bool is_symbolic = false;  // some size, or some stride that the tiles use, has symbols
  // A symbolic number of rows is made of tiles of the plan's rows, then of smaller ones; otherwise
  // of as few tiles as possible whose rows differ by at most one, for which there are more tile
  // functions.
  bool has_many_rows = false;
  // prepare_panels does work: as many panels are prepared at a time as a group of the plan has, and
  // blocks share panels before rows.
  bool panels_are_dear = false;
  // Tiles store any number of lanes: with masks, or by other means.
  bool has_masked_tiles = false;

  // Is called once per batch entry of a block, before its tiles. May be empty.
  std::function<void(llvm::Value* entry)> enter;
  // Is called before the tiles of a chunk. May be empty: a block's tiles are one chunk.
  std::function<void(llvm::Value* row, llvm::Value* rows)> prepare_chunk;
  // Is called before the tiles that read the panels [begin, end). May be empty.
  std::function<void(llvm::Value* begin, llvm::Value* end)> prepare_panels;
  // Returns the tile function's first argument for so many rows.
  std::function<llvm::Value*(llvm::Value* row, llvm::Value* rows)> prepare_rows;
  // Calls the tile function of the shape.
  std::function<void(const TileShape& shape, llvm::Value* a, const Place& place)> call;
};

// Returns every tile that the loops may call.
std::vector<TileShape> nest_tile_shapes(const ContractionNest& nest);

// The tile functions of a nest.
class TileFunctions {
 public:
  // Emits a function for every shape of the nest.
  TileFunctions(const ContractionNest& nest,
                const std::function<llvm::Function*(const TileShape&)>& emit);
  llvm::Function* of(const TileShape& shape) const;

 private:
  std::vector<std::pair<TileShape, llvm::Function*>> functions_;
};

// Returns the offset of a batch entry in an operand whose stride along an axis is stride(axis).
llvm::Value* emit_batch_offset(KernelBuilder& builder, const std::vector<BatchAxis>& batch,
                               llvm::Value* entry,
                               const std::function<const Extent&(size_t axis)>& stride);

// Writes the loops into the kernel at the insert point; with a size of 0 they do nothing.
void emit_nest(KernelBuilder& builder, const ContractionNest& nest);

// Sets multiply-adds and blocks of the kernel's launch.
void set_launch(const ContractionNest& nest, const DeviceProfile& profile, GeneratedKernel& kernel);

}  // namespace sluice
