// The tile functions of direct convolutions: output channels x output pixels are in registers over
// the whole reduction, weights are broadcast, and pixels are read from planes (direct_geometry.h).
#pragma once

#include <utility>
#include <vector>

#include "stages/subgraph-optimize/codegen/conv/direct_geometry.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// How the planes of a chunk lie, in floats; constants where the sizes are fixed.
struct PlaneLayout {
  llvm::Value* columns = nullptr;  // of a row
  llvm::Value* phase = nullptr;    // from one phase of a plane to the next
  llvm::Value* plane = nullptr;    // from plane to plane
};

// Returns the layout for fixed sizes.
PlaneLayout fixed_layout(KernelBuilder& builder, const ConvSpec& spec,
                         const DirectGeometry& geometry);

struct DirectTile {
  int rows = 1;     // output channels
  int vectors = 1;  // of output pixels
  int active = 1;   // lanes of the last vector; 0: an argument of a symbolic tile function
  int lanes = 1;
  bool operator==(const DirectTile&) const = default;
};

// The pointers and sizes of a call, all at the tile.
struct DirectTileCall {
  llvm::Value *planes, *weights, *y;
  IrValues operands;
  PlaneLayout layout;
  llvm::Value* active;  // lanes of the last vector
};

// What a tile stores, and how far apart the rows of its channels are.
struct DirectOutput {
  const Epilogue* epilogue;
  Extent row_stride;
};

class DirectTiles {
 public:
  // Emits the functions of tiles of one spec. The planes are read in place or from scratch.
  DirectTiles(KernelBuilder& builder, const ConvSpec& spec, const DirectConvPlan& plan,
              const DirectGeometry& geometry, const DirectOutput& output,
              const std::vector<DirectTile>& tiles);

  void call(const DirectTile& tile, const DirectTileCall& call);

 private:
  KernelBuilder& b_;
  bool is_symbolic_;
  std::vector<std::pair<DirectTile, llvm::Function*>> functions_;
};

}  // namespace sluice
