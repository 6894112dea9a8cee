#include "stages/subgraph-optimize/codegen/conv/direct_cut.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/emit/choice.h"

namespace sluice {
namespace {

using llvm::Value;

// Computes DirectGeometry::spread_floats.
Value* emit_spread_floats(KernelBuilder& b, Value* floats) {
  Value* lines = b.div(b.add(floats, b.index(kScratchLine - 1)), kScratchLine);
  return b.mul(b.ir().CreateOr(lines, b.index(1)), kScratchLine);
}

// Returns the rows of the last of the plan's chunks.
int64_t last_chunk_rows(const ConvSpec& s, const DirectConvPlan& plan) {
  return s.oh.factor - (plan.chunks - 1) * plan.chunk_rows;
}

// Returns, for one channel, the tile of what is left of so many pixels after whole tiles; 0
// vectors: nothing is left.
DirectTile remainder_tile(const DirectConvPlan& plan, int64_t positions) {
  const int remainder = static_cast<int>(positions % (int64_t{plan.lanes} * plan.vectors));
  const int vectors = static_cast<int>(ceil_div(remainder, plan.lanes));
  return {1, vectors, remainder - (vectors - 1) * plan.lanes, plan.lanes};
}

// Calls the body with the rows of a chunk, which are constants where they are known.
void with_rows(KernelBuilder& b, const ConvSpec& s, const DirectConvPlan& plan,
               const DirectCut& cut, Value* number, Value* first_row,
               const std::function<void(Value* rows)>& body) {
  if (!is_fixed(s)) {
    Value* left = b.sub(b.value(s.oh), first_row);
    return body(b.max(b.min(cut.chunk_rows, left), b.index(0)));
  }
  const int64_t last = last_chunk_rows(s, plan);
  if (last == plan.chunk_rows) return body(cut.chunk_rows);
  b.if_else(
      b.ir().CreateICmpSLT(number, b.index(plan.chunks - 1)), [&] { body(cut.chunk_rows); },
      [&] { body(b.index(last)); });
}

// Returns the tiles of one channel that make up any chunk.
std::vector<DirectTile> pixel_tiles(const ConvSpec& s, const DirectConvPlan& plan,
                                    const DirectGeometry& geometry, bool has_masks) {
  const int lanes = plan.lanes;
  std::vector<DirectTile> tiles = {{1, plan.vectors, lanes, lanes}};
  if (is_fixed(s)) {
    for (const int64_t rows : {plan.chunk_rows, last_chunk_rows(s, plan)}) {
      const DirectTile remainder = remainder_tile(plan, rows * geometry.columns(s));
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
  Value* plane =
      geometry.in_place ? b.value(input_pixels(s)) : emit_spread_floats(b, b.mul(phase, phases));
  cut.layout = {columns, phase, plane};
  return cut;
}

std::vector<DirectTile> direct_tiles(const ConvSpec& s, const DirectConvPlan& plan,
                                     const DirectGeometry& geometry, bool has_masks) {
  const int64_t channels = result_channels(s) / s.groups;
  std::vector<DirectTile> tiles;
  for (const int rows : {plan.rows, static_cast<int>(channels % plan.rows)}) {
    if (rows == 0 || rows > channels) continue;
    for (DirectTile tile : pixel_tiles(s, plan, geometry, has_masks)) {
      tile.rows = rows;
      tiles.push_back(tile);
    }
  }
  return tiles;
}

void for_each_chunk(KernelBuilder& b, const ConvSpec& s, const DirectConvPlan& plan,
                    const DirectCut& cut,
                    const std::function<void(const DirectChunk& chunk)>& body) {
  Value* of_slice = cut.pieces ? b.mul(cut.chunks, cut.pieces) : cut.chunks;
  Value* items = b.mul(of_slice, s.n * s.depth.out * (s.groups * plan.parts));
  const auto range = b.partition(items, b.block(), is_fixed(s) ? b.index(plan.blocks) : b.blocks());
  b.loop(range.first, range.second, 1, [&](Value* item) {
    Value *part = b.mod(item, plan.parts), *piece = b.div(item, plan.parts);
    Value* number = cut.pieces ? b.div(piece, cut.pieces) : piece;
    Value *row_chunk = b.mod(number, cut.chunks), *outer = b.div(number, cut.chunks);
    Value *deep = b.value(s.depth.out), *remainder = b.div(outer, deep);
    DirectChunk chunk{b.div(remainder, s.groups),
                      b.mod(remainder, s.groups),
                      b.mod(outer, deep),
                      b.mul(row_chunk, cut.chunk_rows),
                      part,
                      cut.layout};
    Value* row = b.add(b.mul(chunk.slice, s.oh), chunk.first_row);
    chunk.first_pixel = b.mul(row, s.ow);
    if (cut.pieces) {
      Value* columns = cut.layout.columns;
      chunk.first_column = b.mul(b.mod(piece, cut.pieces), columns);
      chunk.layout.columns = b.min(columns, b.sub(b.value(s.ow), chunk.first_column));
      chunk.first_pixel = b.add(chunk.first_pixel, chunk.first_column);
    }
    with_rows(b, s, plan, cut, row_chunk, chunk.first_row, [&](Value* rows) {
      chunk.rows = rows;
      body(chunk);
    });
  });
}

void for_each_pixel_tile(
    KernelBuilder& b, const DirectConvPlan& plan, const DirectChunk& chunk,
    const std::function<void(Value* pixel, const DirectTile& tile, Value* active)>& body) {
  const int lanes = plan.lanes;
  const int64_t pixels = int64_t{lanes} * plan.vectors;
  Value *positions = b.mul(chunk.rows, chunk.layout.columns), *all = b.index(lanes);
  Value* whole = b.mul(b.div(positions, pixels), pixels);
  b.loop(b.index(0), whole, pixels,
         [&](Value* pixel) { body(pixel, {1, plan.vectors, lanes, lanes}, all); });
  const auto emit_last = [&](Value* pixel, const DirectTile& tile, Value* active) {
    if (tile.vectors > 0) body(pixel, tile, active);
  };
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(positions)) {
    const DirectTile tile = remainder_tile(plan, known->getSExtValue());
    return emit_last(whole, tile, b.index(tile.active));
  }
  Value* remainder = b.sub(positions, whole);
  if (b.has_masks()) {
    Value* count = b.ceil_div(remainder, all);
    Value* active = b.sub(remainder, b.mul(b.sub(count, b.index(1)), lanes));
    return emit_choice(b, count, numbers(0, plan.vectors),
                       [&](int used) { emit_last(whole, {1, used, 0, lanes}, active); });
  }
  Value* in_vectors = b.div(remainder, all);
  emit_choice(b, in_vectors, numbers(0, plan.vectors - 1),
              [&](int used) { emit_last(whole, {1, used, lanes, lanes}, all); });
  emit_choice(b, b.mod(remainder, all), numbers(0, lanes - 1), [&](int count) {
    if (count > 0) body(b.add(whole, b.mul(in_vectors, lanes)), {1, count, 1, 1}, b.index(1));
  });
}

}  // namespace sluice
