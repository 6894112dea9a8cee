// The piece at hand, which is the points that are computed at once, and what is known of it: the
// values of instructions and of axes, and expressions over them, as numbers or lanes.
//
// It is the lowest of a nest's emitters: the others compute and read values here, and the loops
// say which piece is at hand. Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <functional>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/index_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/planned_nest.h"

namespace sluice {

// `copies` vectors of `lanes`; of the last copy the lanes of `mask` are there (null: all).
struct Piece {
  SymbolId lane_symbol = -1;
  SymbolId copy_symbol = -1;  // along which copies lie: the lane symbol, or the tile axis
  int lanes = 1;
  int copies = 1;
  llvm::Value* mask = nullptr;
  bool is_tile = false;  // copies are along the tile axis
  // Of a tile of which a part is there: the number of its lanes, the mask of its copies, and for
  // each copy whether it is there and the mask of its lanes.
  llvm::Value *rows = nullptr, *columns = nullptr;
  IrValues is_there = {}, masks = {};

  // Points of the copies' axis from one copy to the next.
  int copy_step() const { return is_tile ? 1 : lanes; }
  llvm::Value* present(int copy) const {  // the lanes of a copy that are there
    if (!masks.empty()) return masks[static_cast<size_t>(copy)];
    return copy == copies - 1 ? mask : nullptr;
  }
};

class PieceValues {
 public:
  explicit PieceValues(const PlannedNest& nest);
  PieceValues(const PieceValues&) = delete;  // its index emitter refers to it
  PieceValues& operator=(const PieceValues&) = delete;

  const Piece& piece() const { return piece_; }
  void set_piece(Piece piece) { piece_ = std::move(piece); }
  // The first value of an axis, i64.
  llvm::Value* axis(SymbolId symbol) const { return index_.axis(symbol); }
  void set_axis(SymbolId symbol, llvm::Value* first) { index_.set_axis(symbol, first); }

  // Runs `body` for the first `copies` copies; values that expressions mention are of that copy.
  void each_copy(int copies, const std::function<void(int copy)>& body);

  // The values of instructions: one, or one a copy.
  int copies_of(loop::InstructionId id) const;  // how many the piece at hand has
  void set(loop::InstructionId id, IrValues values);
  llvm::Value* value(loop::InstructionId id, int copy) const;

  // Whether values differ between the lanes, or between the copies, of the piece at hand.
  bool differs(ExpressionId id) const;
  bool differs_by_copy(ExpressionId id) const;
  // Whether they ever differ between lanes; of an expression, because of values it mentions.
  const std::vector<bool>& by_lane() const { return by_lane_; }  // by instruction
  bool is_by_lane(loop::InstructionId id) const { return by_lane_[static_cast<size_t>(id)]; }
  bool mentions_lanes(ExpressionId id) const;

  // An expression of a copy: the axis of copies counts on from its first value.
  llvm::Value* number(ExpressionId id, int copy = 0);
  llvm::Value* lanes(ExpressionId id, int copy);
  llvm::Value* extent(loop::AxisId id) { return number(nest_.axis(id).extent); }

  llvm::Value* widened(llvm::Value* value) const;           // to all lanes
  llvm::Value* both(llvm::Value* a, llvm::Value* b) const;  // of masks, null: all
  llvm::Value* present(int copy) const { return piece_.present(copy); }

 private:
  llvm::Value* at_copy(int copy) const;

  const PlannedNest& nest_;
  IndexEmitter index_;
  Piece piece_;
  int copy_in_hand_ = 0;
  std::vector<IrValues> values_;  // by instruction
  // By instruction: differs between lanes, between copies of a tile.
  std::vector<bool> by_lane_, by_tile_;
};

// The symbols that run along the lanes of a nest, of all its sweeps.
std::vector<SymbolId> lane_symbols(const PlannedNest& nest);

}  // namespace sluice
