#include "stages/subgraph-optimize/codegen/contraction/contraction_nest.h"

#include "stages/subgraph-optimize/codegen/ceil_div.h"

namespace sluice {
namespace {

using llvm::Value;

bool has_row_remainder(const ContractionNest& nest) { return nest.rows % nest.plan.rows != 0; }
bool has_column_remainder(const ContractionNest& nest) { return nest.columns % nest.plan.nr != 0; }

TileShape tile_shape(const ContractionNest& nest, bool row_remainder, bool column_remainder) {
  const int lanes = nest.plan.lanes;
  TileShape shape{nest.plan.rows, nest.plan.vectors, lanes, lanes};
  if (row_remainder) shape.rows = static_cast<int>(nest.rows % nest.plan.rows);
  if (column_remainder) {
    const int remainder = static_cast<int>(nest.columns % nest.plan.nr);
    shape.vectors = static_cast<int>(ceil_div(remainder, lanes));
    shape.active = remainder - (shape.vectors - 1) * lanes;
  }
  return shape;
}

// Emits the loops that one block of a fixed kernel runs:
//
//   block = (batch block, panel block, row block), row block fastest: neighbours share weights
//   for entry in the block's batch entries:               enter(entry)
//     for panels [begin, end) of the block, panel_group at a time:  prepare_panels(begin, end)
//       for tile in the block's row tiles:                a = prepare_rows(tile, rows)
//         for panel in [begin, end): call(a, tile, panel)
//
// The short last row tile and the short last panel are loops of one iteration or none after the
// loops over whole ones.
class NestEmitter {
 public:
  NestEmitter(KernelBuilder& builder, const ContractionNest& nest)
      : b_(builder), nest_(nest), tiles_(ceil_div(nest.rows, nest.plan.rows)) {}

  void emit() {
    const ContractionPlan& plan = nest_.plan;
    Value* block = b_.block();
    const auto row_range = b_.partition(tiles_, b_.mod(block, plan.row_blocks), plan.row_blocks);
    const auto panel_range = b_.partition(
        plan.panels, b_.mod(b_.div(block, plan.row_blocks), plan.panel_blocks), plan.panel_blocks);
    const auto batch_range = b_.partition(
        nest_.batch, b_.div(block, plan.row_blocks * plan.panel_blocks), plan.batch_blocks);
    b_.loop(batch_range.first, batch_range.second, 1, [&](Value* entry) {
      if (nest_.enter) nest_.enter(entry);
      b_.loop(panel_range.first, panel_range.second, plan.panel_group, [&](Value* begin) {
        Value* end = b_.min(b_.add(begin, b_.index(plan.panel_group)), panel_range.second);
        if (nest_.prepare_panels) nest_.prepare_panels(begin, end);
        emit_tiles(row_range.first, row_range.second, begin, end);
      });
    });
  }

 private:
  void emit_tiles(Value* first, Value* last, Value* panel_begin, Value* panel_end) {
    const int64_t whole = nest_.rows / nest_.plan.rows;
    b_.loop(first, b_.min(last, b_.index(whole)), 1,
            [&](Value* tile) { emit_panels(tile, false, panel_begin, panel_end); });
    if (has_row_remainder(nest_)) {
      // This loop runs once in the block that has the last tile of all, and never in the others.
      b_.loop(b_.index(whole), last, 1,
              [&](Value* tile) { emit_panels(tile, true, panel_begin, panel_end); });
    }
  }

  void emit_panels(Value* tile, bool row_remainder, Value* begin, Value* end) {
    Value* a = nest_.prepare_rows(tile, tile_shape(nest_, row_remainder, false).rows);
    const int64_t whole = nest_.columns / nest_.plan.nr;
    if (whole > 0) {
      b_.loop(begin, b_.min(end, b_.index(whole)), 1,
              [&](Value* panel) { nest_.call(a, tile, panel, row_remainder, false); });
    }
    if (has_column_remainder(nest_)) {
      b_.loop(b_.index(whole), end, 1,
              [&](Value* panel) { nest_.call(a, tile, panel, row_remainder, true); });
    }
  }

  KernelBuilder& b_;
  const ContractionNest& nest_;
  int64_t tiles_;
};

}  // namespace

TileFunctions emit_tile_functions(const ContractionNest& nest,
                                  const std::function<llvm::Function*(const TileShape&)>& emit) {
  TileFunctions tiles = {};
  for (bool row_remainder : {false, true}) {
    if (row_remainder && !has_row_remainder(nest)) continue;
    for (bool column_remainder : {false, true}) {
      if (column_remainder ? !has_column_remainder(nest) : nest.columns < nest.plan.nr) continue;
      tiles[row_remainder][column_remainder] =
          emit(tile_shape(nest, row_remainder, column_remainder));
    }
  }
  return tiles;
}

void emit_nest(KernelBuilder& builder, const ContractionNest& nest) {
  NestEmitter(builder, nest).emit();
}

}  // namespace sluice
