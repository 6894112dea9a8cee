// The sweeps of a point: their loops, and in each iteration the instructions, accumulators and
// stores.
//
// It puts these three together, and with vectors along the last axis of each sweep it says which
// piece of that axis is at hand. Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/loop/accumulator_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/instruction_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/store_emitter.h"

namespace sluice {

class SweepEmitter {
 public:
  SweepEmitter(const PlannedNest& nest, PieceValues& values, AccumulatorEmitter& accumulators,
               InstructionEmitter& instructions, StoreEmitter& stores)
      : nest_(nest),
        values_(values),
        accumulators_(accumulators),
        instructions_(instructions),
        stores_(stores) {}

  void emit();  // all sweeps, one after the other

 private:
  void emit_sweep(size_t sweep);
  IrValues emit_axes(size_t sweep, size_t number, const IrValues& carried);
  IrValues emit_lane_axis(size_t sweep, loop::AxisId id, const IrValues& carried);
  IrValues emit_written_out(size_t sweep, size_t number, const IrValues& carried);
  bool is_written_out(size_t sweep, size_t number) const;
  IrValues emit_iteration(size_t sweep, const IrValues& carried);

  const PlannedNest& nest_;
  PieceValues& values_;
  AccumulatorEmitter& accumulators_;
  InstructionEmitter& instructions_;
  StoreEmitter& stores_;
};

}  // namespace sluice
