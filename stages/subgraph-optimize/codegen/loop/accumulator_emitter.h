// Accumulators: their values travel through the loops of their sweep, one or `unroll` vectors each.
// With vectors along the sweep's axis every lane starts with the neutral element, and at the end
// copies and lanes are combined in a fixed order, the initial value last.
//
// It has the present, or final, values, and needs those of instructions in the piece. Include it
// only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <vector>

#include "stages/subgraph-optimize/codegen/loop/combine_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/nan_notes.h"

namespace sluice {

class AccumulatorEmitter {
 public:
  AccumulatorEmitter(const PlannedNest& nest, PieceValues& values, MathPrecision precision)
      : nest_(nest),
        values_(values),
        combine_(nest.builder, precision),
        notes_(nest, values),
        carried_(nest.flat.nest.accumulators.size()) {}

  // What the loops of a sweep carry: before them, at the start of an iteration, after its
  // instructions, and after all loops.
  IrValues initial_values(size_t sweep);
  void read(size_t sweep, const IrValues& carried);
  IrValues next_values(size_t sweep);
  void finish(size_t sweep, const IrValues& carried);

  llvm::Value* value(loop::AccumulatorId id, int copy) const;
  llvm::Value* position(loop::AccumulatorId id, int copy) const;

 private:
  using Best = CombineEmitter::Best;
  struct Carried {  // of an accumulator: by copy
    IrValues value, position;
    IrValues nan;  // notes of whether there was one
  };

  bool is_vector(const loop::Accumulator& accumulator) const;
  int copies_of(const loop::Accumulator& accumulator) const;
  int lanes_of(const loop::Accumulator& accumulator) const;
  size_t note_count(const loop::Accumulator& accumulator) const;
  llvm::Value* initial_value(const loop::Accumulator& accumulator, int copy);
  llvm::Value* start(const loop::Accumulator& accumulator, int copy);

  void add_iteration(const loop::Accumulator& accumulator, Carried& own);
  llvm::Value* add_number(const loop::Accumulator& accumulator, Carried& own, size_t copy);
  void add_position(const loop::Accumulator& accumulator, Carried& own, size_t copy);
  llvm::Value* placed(const loop::Accumulator& accumulator, llvm::Value* one,
                      llvm::Value* otherwise);
  llvm::Value* is_first_nan(const loop::Accumulator& accumulator, llvm::Value* key, size_t copy);

  void finish_lanes(const loop::Accumulator& accumulator, Carried& own);
  void merge(const loop::Accumulator& accumulator, Best& best, const Best& other);
  Best shuffled(const Best& best, int first, int count);

  const PlannedNest& nest_;
  PieceValues& values_;
  CombineEmitter combine_;
  NanNotes notes_;
  std::vector<Carried> carried_;  // by accumulator
};

}  // namespace sluice
