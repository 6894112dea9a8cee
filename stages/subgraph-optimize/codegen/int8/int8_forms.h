// The two forms of tiles that a kernel of bytes may have: products of bytes, and of pairs of 16
// bits. Where it has both, what its panels hold decides when it runs.
#pragma once

#include <optional>

#include "stages/subgraph-optimize/codegen/contraction/nest.h"
#include "stages/subgraph-optimize/codegen/int8/int8_tile.h"

namespace sluice {

struct Int8Form {
  Int8Reduction reduction;
  std::optional<TileFunctions> tiles;
};

struct Int8Forms {
  std::optional<Int8Form> bytes, pairs;
  llvm::Value* are_narrow = nullptr;  // i1: the panels are multiplied as bytes

  // Emits the tile functions of each form.
  void emit_tiles(
      const ContractionNest& nest,
      const std::function<llvm::Function*(const Int8Form&, const TileShape&)>& emit_tile);

  // Emits what a form does, for the one that the panels are multiplied in.
  void choose(KernelBuilder& builder, const std::function<void(const Int8Form&)>& emit) const;
};

}  // namespace sluice
