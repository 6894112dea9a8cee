#include "stages/subgraph-optimize/codegen/conv/direct_cut.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"

namespace sluice {
namespace {

using llvm::Value;

// Computes DirectGeometry::spread_floats.
Value* spread(KernelBuilder& b, Value* floats) {
  Value* lines = b.div(b.add(floats, b.index(kScratchLine - 1)), kScratchLine);
  return b.mul(b.ir().CreateOr(lines, b.index(1)), kScratchLine);
}

// Returns the tiles of one channel that make up any chunk.
std::vector<DirectTile> pixel_tiles(const ConvSpec& s, const DirectConvPlan& plan, bool has_masks) {
  const int lanes = plan.lanes;
  std::vector<DirectTile> tiles = {{1, plan.vectors, lanes, lanes}};
  if (is_fixed(s)) {
    for (const int64_t rows : {plan.chunk_rows, last_chunk_rows(s, plan)}) {
      const DirectTile remainder = remainder_tile(plan, rows * s.ow.factor);
      if (remainder.vectors > 0 && std::ranges::find(tiles, remainder) == tiles.end())
        tiles.push_back(remainder);
    }
  } else if (has_masks) {
    for (int vectors = 1; vectors <= plan.vectors; ++vectors)
      tiles.push_back({1, vectors, 0, lanes});
  } else {
    for (int vectors = 1; vectors < plan.vectors; ++vectors)
      tiles.push_back({1, vectors, lanes, lanes});
    for (int pixels = 1; pixels < lanes; ++pixels) tiles.push_back({1, pixels, 1, 1});
  }
  return tiles;
}

}  // namespace

DirectCut planned_cut(KernelBuilder& b, const ConvSpec& s, const DirectConvPlan& plan,
                      const DirectGeometry& geometry) {
  return {b.index(plan.chunk_rows), b.index(plan.chunks), nullptr, fixed_layout(b, s, geometry)};
}

DirectCut computed_cut(KernelBuilder& b, const ConvSpec& s, const DirectConvPlan& plan,
                       const DirectGeometry& geometry) {
  DirectCut cut;
  Value *high = b.value(s.oh), *wide = b.value(s.ow), *columns = wide;
  const int64_t positions = plan.chunk_rows * std::max<int64_t>(s.ow.nominal, 1);
  Value* maximum = b.max(b.div(b.index(positions), wide), b.index(geometry.min_rows()));
  if (!geometry.in_place) {
    Value* fitting = b.sub(b.div(b.index(plan.phase_floats), wide), b.index(geometry.max_shift));
    maximum = b.max(b.min(maximum, fitting), b.index(1));
    if (plan.piece_columns > 0) {
      Value* is_whole = b.ir().CreateICmpSGT(fitting, b.index(0));
      columns = b.ir().CreateSelect(is_whole, wide, b.index(plan.piece_columns));
      cut.pieces = b.ceil_div(wide, columns);
    }
  }
  cut.chunks = b.ceil_div(high, b.min(maximum, high));
  cut.chunk_rows = b.ceil_div(high, cut.chunks);
  Value* phase = b.mul(b.add(cut.chunk_rows, b.index(geometry.max_shift)), columns);
  const auto phases = static_cast<int64_t>(geometry.phases.size());
  Value* plane = geometry.in_place ? b.value(input_pixels(s)) : spread(b, b.mul(phase, phases));
  cut.layout = {columns, phase, plane};
  return cut;
}

int64_t last_chunk_rows(const ConvSpec& s, const DirectConvPlan& plan) {
  return s.oh.factor - (plan.chunks - 1) * plan.chunk_rows;
}

DirectTile remainder_tile(const DirectConvPlan& plan, int64_t positions) {
  const int remainder = static_cast<int>(positions % (int64_t{plan.lanes} * plan.vectors));
  const int vectors = static_cast<int>(ceil_div(remainder, plan.lanes));
  return {1, vectors, remainder - (vectors - 1) * plan.lanes, plan.lanes};
}

std::vector<DirectTile> direct_tiles(const ConvSpec& s, const DirectConvPlan& plan,
                                     bool has_masks) {
  const int64_t channels = result_channels(s) / s.groups;
  std::vector<DirectTile> tiles;
  for (const int rows : {plan.rows, static_cast<int>(channels % plan.rows)}) {
    if (rows == 0 || rows > channels) continue;
    for (DirectTile tile : pixel_tiles(s, plan, has_masks)) {
      tile.rows = rows;
      tiles.push_back(tile);
    }
  }
  return tiles;
}

}  // namespace sluice
