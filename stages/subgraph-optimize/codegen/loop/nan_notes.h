// Of the largest or smallest real, NaN is kept apart from the value: a note of whether there was
// one.
//
// It needs the values of the piece; the notes themselves travel with the accumulator. Include it
// only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/loop/piece_values.h"

namespace sluice {

class NanNotes {
 public:
  NanNotes(const PlannedNest& nest, PieceValues& values) : nest_(nest), values_(values) {}

  // Whether a NaN is noted beside the value: of maxima and minima that nothing reads before the
  // end.
  bool are_taken(const loop::Accumulator& accumulator) const;
  // A note of `lanes` lanes that nothing was NaN.
  llvm::Constant* none(DType dtype, int lanes) const;
  // Adds to the notes, one for all copies or one a copy, which of the fresh values are NaN.
  void add(IrValues& notes, const IrValues& fresh);
  // The value, or NaN where the note says so.
  llvm::Value* with_nan(llvm::Value* value, llvm::Value* note);

 private:
  llvm::Value* any_nan(const IrValues& fresh, size_t first, size_t last);

  const PlannedNest& nest_;
  PieceValues& values_;
};

}  // namespace sluice
