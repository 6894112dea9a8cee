// Emits the code of one nest: its outer loops, and what is inside by the emitters that it owns.
//
//   for unit in the block's part of (block axes, chunks of the split axis):
//     for rest axes:
//       instructions that all lanes share
//       for lane axis of the chunk, by copies * lanes:            (vector along an outer axis)
//         sweeps: for inner axes: instructions; stores
//
// or, with vectors along the last axis of each sweep, the same without the lane axis. An axis whose
// points share work is the innermost loop: what does not depend on it is computed once before.
// Where an image is resized, the places and weights of its columns serve all channels:
//
//       for lane axis of the chunk, by copies * lanes:
//         instructions and indices that do not depend on the repeat axis
//         for repeat axis: the other instructions; stores
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <functional>
#include <vector>

#include "stages/subgraph-optimize/codegen/loop/piece_versions.h"
#include "stages/subgraph-optimize/codegen/loop/tile_loops.h"

namespace sluice {

class NestEmitter {
 public:
  NestEmitter(PlannedNest nest, const BufferAddresses& buffers, MathPrecision precision);

  // Emits part `block` of `blocks` of the nest.
  void emit(llvm::Value* block, llvm::Value* blocks);

 private:
  // What blocks share: the points of the block axes, times the chunks of the split axis.
  struct Units {
    llvm::Value* count = nullptr;
    llvm::Value* chunk = nullptr;  // points of the split axis in one; null: no axis is split
    llvm::Value* chunks = nullptr;
  };
  struct Points {  // of an axis: [begin, end)
    llvm::Value *begin = nullptr, *end = nullptr;
  };

  void choose_loops();
  int64_t split_grain() const;
  Units emit_units();
  void emit_unit(llvm::Value* unit, const Units& units);
  void emit_inner_axes(size_t number, const Points& split);

  void emit_lane_axis(const Points& points);
  void emit_lane_pieces(const Points& points, const std::function<void()>& point);
  llvm::Value* emit_until_aligned(const Points& points, const std::function<void()>& point);
  bool is_cut_evenly() const;
  bool shares_by_lane() const;

  void emit_repeated(const Points& split);
  void emit_repeated_points(const Points& points);
  void emit_repeated_loop(const Points& points, bool uses_windows);

  SymbolId symbol(loop::AxisId id) const { return nest_.axis(id).symbol; }
  Points all_points(loop::AxisId id) { return {b_.index(0), values_.extent(id)}; }
  Piece lane_piece(int lanes, int copies) const {  // along the lane axis
    const SymbolId lane = symbol(nest_.plan.axis);
    return {.lane_symbol = lane, .copy_symbol = lane, .lanes = lanes, .copies = copies};
  }

  const PlannedNest nest_;
  KernelBuilder& b_;
  // Each needs some of those before it, and none of those after it.
  PieceValues values_;
  GuardEmitter guards_;
  MemoryElements memory_;
  SharedLoads shared_;
  LoadEmitter loads_;
  TileLoads tiles_;
  StoreEmitter stores_;
  AccumulatorEmitter accumulators_;
  InstructionEmitter instructions_;
  SweepEmitter sweeps_;
  PieceVersions versions_;
  TileLoops tile_loops_;

  std::vector<loop::AxisId> block_axes_;  // whose points are split over the blocks
  std::vector<loop::AxisId> inner_axes_;  // loops inside
  loop::AxisId split_axis_ = -1;          // split into chunks when block_axes_ have few points
};

}  // namespace sluice
