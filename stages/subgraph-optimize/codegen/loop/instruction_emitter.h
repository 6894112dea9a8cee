// The instructions of a sweep, for all copies and lanes of the piece at hand.
//
// It knows which of them are emitted before the innermost loop, and needs the values of the piece,
// guards, loads, and accumulators. Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <vector>

#include "stages/subgraph-optimize/codegen/emit/scalar.h"
#include "stages/subgraph-optimize/codegen/loop/accumulator_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/load_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/tile_loads.h"

namespace sluice {

class InstructionEmitter {
 public:
  // Which instructions are emitted: those before the innermost loop, or those inside.
  enum class Part : uint8_t { kAll, kBefore, kInside };

  InstructionEmitter(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
                     LoadEmitter& loads, TileLoads& tiles, const AccumulatorEmitter& accumulators,
                     MathPrecision precision);

  void emit(size_t sweep);
  void set_part(Part part) { part_ = part; }
  // Whether any instruction of a sweep, but constants, is of the part before the innermost loop.
  bool has_part_before(size_t sweep) const;

 private:
  bool is_inside(loop::InstructionId id) const { return inside_[static_cast<size_t>(id)]; }
  llvm::Value* emit_instruction(loop::InstructionId id, int copy);
  llvm::Value* emit_index(ExpressionId index, int copy);
  llvm::Value* emit_scalar(const loop::Instruction& instruction, int copy);
  bool is_within_i32(loop::InstructionId id) const;

  const PlannedNest& nest_;
  PieceValues& values_;
  GuardEmitter& guards_;
  LoadEmitter& loads_;
  TileLoads& tiles_;
  const AccumulatorEmitter& accumulators_;
  ScalarEmitter scalar_;
  Part part_ = Part::kAll;
  std::vector<bool> inside_;  // by instruction: depends on the axis of the innermost loop
};

}  // namespace sluice
