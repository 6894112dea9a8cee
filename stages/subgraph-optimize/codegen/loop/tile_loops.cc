#include "stages/subgraph-optimize/codegen/loop/tile_loops.h"

#include "stages/subgraph-optimize/codegen/loop/piece_loops.h"

namespace sluice {

using llvm::Value;

TileLoops::TileLoops(const PlannedNest& nest, PieceValues& values, SweepEmitter& sweeps,
                     PieceVersions& versions)
    : nest_(nest), b_(nest.builder), values_(values), sweeps_(sweeps), versions_(versions) {
  if (nest.plan.tile_axis < 0) return;
  tile_ = nest.axis(nest.plan.tile_axis).symbol;
  lane_ = nest.axis(nest.plan.axis).symbol;
}

void TileLoops::emit(Value* begin, Value* end) {
  const int64_t lanes = nest_.plan.lanes;
  Value* whole = b_.add(begin, b_.mul(b_.div(b_.sub(end, begin), lanes), lanes));
  last_ = values_.extent(nest_.plan.axis);
  whole_lanes_ = b_.mul(b_.div(last_, lanes), lanes);
  emit_squares(begin, whole, false);
  if (nest_.has_masks()) return emit_squares(whole, end, true);
  emit_rows(begin, whole, whole_lanes_);
  emit_rows(whole, end, b_.index(0));
}

void TileLoops::emit_squares(Value* from, Value* to, bool is_part) {
  const int lanes = nest_.plan.lanes;
  b_.loop(from, to, lanes, [&](Value* i) {
    values_.set_axis(tile_, i);
    const auto emit_square = [&](Value* k, bool is_whole) {
      values_.set_axis(lane_, k);
      values_.set_piece(is_whole ? square() : part_of_square(b_.sub(last_, k), b_.sub(to, i)));
      versions_.emit();
    };
    b_.loop(b_.index(0), whole_lanes_, lanes, [&](Value* k) { emit_square(k, !is_part); });
    if (!nest_.has_masks()) return;
    b_.loop(whole_lanes_, last_, lanes, [&](Value* k) { emit_square(k, false); });
  });
}

// From a lane on, in single vectors.
void TileLoops::emit_rows(Value* from, Value* to, Value* first_lane) {
  b_.loop(from, to, 1, [&](Value* i) {
    values_.set_axis(tile_, i);
    emit_pieces(nest_, values_, {.symbol = lane_, .begin = first_lane, .end = last_},
                [&] { sweeps_.emit(); });
  });
}

Piece TileLoops::square() const {
  return {.lane_symbol = lane_,
          .copy_symbol = tile_,
          .lanes = nest_.plan.lanes,
          .copies = nest_.plan.lanes,
          .is_tile = true};
}

// The first `rows` lanes and the first `columns` copies are there (at least one each; more than
// all: all).
Piece TileLoops::part_of_square(Value* rows, Value* columns) const {
  Piece piece = square();
  piece.rows = rows;
  piece.columns = b_.mask(columns, piece.lanes);
  Value* lanes = b_.mask(rows, piece.lanes);
  for (int copy = 0; copy < piece.copies; ++copy) {
    piece.is_there.push_back(b_.ir().CreateICmpSLT(b_.index(copy), columns));
    piece.masks.push_back(
        b_.ir().CreateAnd(lanes, b_.broadcast(piece.is_there.back(), piece.lanes)));
  }
  return piece;
}

}  // namespace sluice
