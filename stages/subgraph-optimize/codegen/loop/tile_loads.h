// Squares of elements that are neighbours along the tile axis, not along the lanes: one vector for
// each lane's row, transposed in registers.
//
// It needs the values of the piece, guards, and elements in memory. Include it only in files that
// emit IR: it brings LLVM's headers.
#pragma once

#include <optional>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/guard_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/memory_elements.h"

namespace sluice {

class TileLoads {
 public:
  TileLoads(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
            MemoryElements& memory);

  // The value of each copy of the tile at hand. Nothing: the instruction is no such load.
  std::optional<IrValues> load(loop::InstructionId id);

 private:
  IrValues load_rows(const loop::Instruction& own, ExpressionId offset);
  llvm::Value* load_row(const loop::Instruction& own, llvm::Value* first, llvm::Value* stride,
                        int lane);
  llvm::Value* guards_hold(const std::vector<loop::Guard>& guards, llvm::Value* lane);

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  MemoryElements& memory_;
  std::vector<bool> by_square_;  // by instruction: differs between lanes or copies of a tile
};

}  // namespace sluice
