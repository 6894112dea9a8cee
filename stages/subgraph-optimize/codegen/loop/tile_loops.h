// The loops of a tile: squares of points along the tile axis and the lane axis, whole ones first.
// What remains is computed in squares too, of which a part is there, or, without masks, row by row.
//
// It says which square is at hand, and emits its versions or, of a row, the sweeps. Include it only
// in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/loop/piece_versions.h"

namespace sluice {

class TileLoops {
 public:
  TileLoops(const PlannedNest& nest, PieceValues& values, SweepEmitter& sweeps,
            PieceVersions& versions);

  void emit(llvm::Value* begin, llvm::Value* end);  // of the tile axis; the lane axis is whole

 private:
  void emit_squares(llvm::Value* from, llvm::Value* to, bool is_part);
  void emit_rows(llvm::Value* from, llvm::Value* to, llvm::Value* first_lane);
  Piece square() const;
  Piece part_of_square(llvm::Value* rows, llvm::Value* columns) const;

  const PlannedNest& nest_;
  KernelBuilder& b_;
  PieceValues& values_;
  SweepEmitter& sweeps_;
  PieceVersions& versions_;
  SymbolId tile_ = -1, lane_ = -1;
  llvm::Value* last_ = nullptr;         // of the lane axis
  llvm::Value* whole_lanes_ = nullptr;  // of the lane axis: the end of whole squares
};

}  // namespace sluice
