// The walk of a recurrent cell along its sequences. What the steps do not hand to each other, the
// product of every input with W, is an ordinary matrix product that runs before; the walk adds the
// product of the state with R, and the gates.
#pragma once

#include "common/target/math_precision.h"
#include "common/target/recurrent_cell.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Pointers: those of Y, Y_h and Y_c that there are, the products, packed R, then those that there
// are of bias, lengths, initial h, initial c and peepholes. All are dense.
//
// The products are [steps][batch][directions][gates][hidden], with the first two axes exchanged
// where batch comes first. Packed R is [directions][gates][panels][k][nr] of
// R[direction][gate][j][k] with j in panels of nr = choose_recurrent_plan(...).nr, missing columns
// zero. Lengths are i32, products f32.
struct RecurrentSpec {
  RecurrentCell cell;
  Extent steps = 1, batch = 1;
  bool has_y = false, has_y_h = false, has_y_c = false;
  bool has_bias = false, has_lengths = false, has_h = false, has_c = false, has_peepholes = false;
  // Of R, bias, peepholes, initial states and results, in memory: f32, f16 or bf16. Sums and the
  // states of the walk are f32, and each result is rounded once.
  DType dtype = DType::kF32;
  MathPrecision math = MathPrecision::kDefault;
};

// Where a worker's scratch has what, in floats. First comes what a step knows of each sequence of a
// group (cell_tile.h). The areas after it have a row of `stride` floats for each sequence: h of
// even and of odd steps, then c; or, for a GRU of two phases, the update gate and the state that
// the reset gate has scaled.
inline constexpr int64_t kSequenceFloats = 8;
struct RecurrentScratch {
  int64_t stride = 0;
  int64_t states = 0;  // the first area
  int64_t area = 0;    // from one area to the next
  int64_t unread = 0;  // one row, which takes the results of sequences that have ended
  int64_t size = 0;
};

struct RecurrentPlan {
  int lanes = 1;
  int rows = 1;           // sequences of a tile, at most
  int sums = 1;           // vectors of sums for each row of a tile
  int sums_alone = 1;     // of the tile of a group of one sequence
  int panel_vectors = 1;  // vectors of a packed panel
  int64_t nr = 1;         // its columns
  int64_t panels = 1;
  int64_t group = 1;  // sequences that are walked together, at most
  RecurrentScratch scratch;
  double cycles = 0;  // estimated for one thread, at the nominal sizes
  uint32_t blocks = 1;
};

// The plan depends on the cell, the sizes, has_lengths and the dtype. Error: kNotLowerable when the
// states of one sequence exceed the profile's scratch.
Result<RecurrentPlan> choose_recurrent_plan(const RecurrentSpec& spec,
                                            const DeviceProfile& profile);
Result<GeneratedKernel> generate_recurrent(const RecurrentSpec& spec, const DeviceProfile& profile);

std::string canonical_text(const RecurrentSpec& spec);

}  // namespace sluice
