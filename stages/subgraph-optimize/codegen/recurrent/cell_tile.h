// The register tile of a recurrent cell: for a few sequences and hidden units, the sums of all
// gates in registers over the whole of h, then the gates, the new state and the stores.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

namespace sluice {

// The gates that one pass over h computes. Only a GRU of two phases has a second pass: its hidden
// gate multiplies the state that the reset gate has scaled.
struct CellPhase {
  int64_t first_gate = 0, gates = 1;
  bool is_last = true;
};
std::vector<CellPhase> cell_phases(const RecurrentCell& cell);

struct CellTileShape {
  CellPhase phase;
  size_t direction = 0;  // whose activations are used
  int rows = 1;          // sequences
  int vectors = 1;       // of hidden units, for each gate
  int active = 1;        // units of the last vector that exist
};

// Returns the vectors of hidden units of a whole tile that has so many vectors of sums for each
// row.
int cell_tile_vectors(const RecurrentSpec& spec, const RecurrentPlan& plan, const CellPhase& phase,
                      int sums);

// What a step knows of a sequence: kSequenceFloats in scratch. Members are 8 bytes each.
enum class SequenceMember { kProducts, kResult, kIsActive };
llvm::Value* sequence_member_at(KernelBuilder& builder, llvm::Value* sequence,
                                SequenceMember member);

// The arguments of a tile function. Pointers are those of the tile's first sequence and direction.
struct CellTileArguments {
  llvm::Value* sequence = nullptr;   // what the step knows of it
  llvm::Value* weights = nullptr;    // R of the phase's first gate and the tile's first unit
  llvm::Value* unit = nullptr;       // i64: the first unit
  llvm::Value* old_state = nullptr;  // its row of h before the step
  llvm::Value* new_state = nullptr;  // and after it
  llvm::Value* areas = nullptr;      // its row of the first area
  llvm::Value* bias = nullptr;       // null without
  llvm::Value* peepholes = nullptr;  // null without

  IrValues values() const;
};

// Writes an internal function with these arguments.
llvm::Function* emit_cell_tile(KernelBuilder& builder, const RecurrentSpec& spec,
                               const RecurrentPlan& plan, const CellTileShape& shape);

}  // namespace sluice
