#include "stages/subgraph-optimize/codegen/contraction/plan.h"

#include <algorithm>
#include <cmath>

#include "stages/subgraph-optimize/codegen/ceil_div.h"

namespace sluice {
namespace {

double panel_cycles(const RegisterTile& tile, const ContractionSize& size, int64_t columns,
                    const DeviceProfile& profile) {
  RegisterTile used = tile;
  used.vectors = static_cast<int>(ceil_div(columns, tile.lanes));
  const double full =
      tile_cycles(used, size.reduction, size.operands, profile) + size.row_cycles * used.rows;
  const int64_t remainder = size.rows % tile.rows;
  double total = full * static_cast<double>(size.rows / tile.rows);
  if (remainder > 0) {
    used.rows = static_cast<int>(remainder);
    total +=
        tile_cycles(used, size.reduction, size.operands, profile) + size.row_cycles * used.rows;
  }
  return total * conflict_factor(tile.rows, size.row_bytes, profile);
}

double entry_cycles(const RegisterTile& tile, const ContractionSize& size,
                    const DeviceProfile& profile) {
  const int64_t nr = int64_t{tile.lanes} * tile.vectors;
  const int64_t remainder = size.columns % nr;
  double total = static_cast<double>(size.columns / nr) * panel_cycles(tile, size, nr, profile);
  if (remainder > 0) total += panel_cycles(tile, size, remainder, profile);
  // Each kind of remainder is one more tile function to compile and to keep in the instruction
  // cache.
  constexpr double kRemainder = 0.005;
  return total *
         (1 + (remainder > 0 ? kRemainder : 0) + (size.rows % tile.rows > 0 ? kRemainder : 0));
}

constexpr int kMaxVectors = 5;

RegisterTile choose_tile(const ContractionSize& size, const DeviceProfile& profile) {
  RegisterTile best{};
  double best_cycles = 0;
  for (int lanes = profile.vector_bits / 32; lanes >= 4; lanes /= 2) {
    for (int vectors = 1; vectors <= kMaxVectors; ++vectors) {
      if (vectors > 1 && int64_t{lanes} * (vectors - 1) >= size.columns) break;
      for (int rows = 1; rows <= size.rows; ++rows) {
        const RegisterTile tile{lanes, vectors, rows};
        if (!fits_registers(tile, size.operands, profile)) break;
        const double cycles = entry_cycles(tile, size, profile);
        if (best.rows == 0 || cycles < best_cycles) {
          best = tile;
          best_cycles = cycles;
        }
      }
    }
  }
  return best;
}

// Returns the number of parts, at most `limit`, that leaves the largest part smallest; among equals
// the smallest number.
int64_t even_parts(int64_t items, int64_t limit) {
  limit = std::clamp<int64_t>(limit, 1, items);
  return ceil_div(items, ceil_div(items, limit));
}

// Returns the cycles in which the blocks of a batch entry prepare their rows and columns.
double preparation_cycles(const ContractionSize& size, int64_t row_blocks, int64_t panel_blocks) {
  return static_cast<double>(size.rows * panel_blocks) * size.prepared_row_cycles +
         static_cast<double>(size.columns * row_blocks) * size.prepared_column_cycles;
}

// Splits a batch entry, both of whose operands its blocks prepare, over up to `limit` blocks such
// that they prepare least. More than half of the blocks that are possible are used.
void split_prepared(const ContractionSize& size, int64_t limit, ContractionPlan& plan) {
  const int64_t tiles = ceil_div(size.rows, plan.rows);
  const int64_t possible = std::min(limit, tiles * plan.panels);
  double min_cycles = 0;
  for (int64_t panels = 1; panels <= std::min(plan.panels, limit); ++panels) {
    const int64_t panel_blocks = even_parts(plan.panels, panels);
    const int64_t row_blocks = even_parts(tiles, limit / panel_blocks);
    const double cycles = preparation_cycles(size, row_blocks, panel_blocks);
    if (row_blocks * panel_blocks * 2 <= possible || (min_cycles > 0 && cycles >= min_cycles))
      continue;
    min_cycles = cycles;
    plan.row_blocks = row_blocks, plan.panel_blocks = panel_blocks;
  }
}

int64_t panel_bytes(const ContractionSize& size, int64_t columns) {
  return std::max<int64_t>(1, columns * size.reduction * size.element_bytes);
}

// Returns the cycles that the blocks of one entry take besides the products: a block prepares its
// rows, and reads its panels anew for every chunk.
double sharing_cycles(const ContractionSize& size, const ContractionPlan& plan,
                      const DeviceProfile& profile) {
  const int64_t tiles = ceil_div(ceil_div(size.rows, plan.rows), plan.row_blocks);
  const int64_t chunks = plan.row_blocks * ceil_div(tiles, choose_chunk_tiles(size, plan, profile));
  const int64_t prepared = size.rows + chunks * size.prepared.shared;
  return static_cast<double>(plan.panel_blocks * prepared) * size.prepared.cycles +
         fetch_cycles(chunks * plan.panels * panel_bytes(size, plan.nr), profile);
}

// Returns the cycles of `blocks` blocks that are all as large as the largest.
double even_cycles(double cycles, const ContractionSize& size, const ContractionPlan& plan) {
  const int64_t tiles = ceil_div(size.rows, plan.rows);
  const int64_t row_part = ceil_div(tiles, plan.row_blocks) * plan.row_blocks;
  const int64_t panel_part = ceil_div(plan.panels, plan.panel_blocks) * plan.panel_blocks;
  return cycles * static_cast<double>(row_part) / static_cast<double>(tiles) *
         static_cast<double>(panel_part) / static_cast<double>(plan.panels);
}

// Chooses how blocks share rows and panels where rows are prepared: the fewest cycles in all.
void choose_prepared_blocks(const ContractionSize& size, double cycles, int64_t blocks,
                            int64_t group_limit, const DeviceProfile& profile,
                            ContractionPlan& plan) {
  const int64_t tiles = ceil_div(size.rows, plan.rows);
  ContractionPlan tried = plan;
  double best = 0;
  for (int64_t parts = 1; parts <= std::min(blocks, plan.panels); ++parts) {
    tried.panel_blocks = even_parts(plan.panels, parts);
    tried.row_blocks = even_parts(tiles, blocks / parts);
    tried.panel_group = std::min(ceil_div(plan.panels, tried.panel_blocks), group_limit);
    const double taken = even_cycles(cycles, size, tried) + sharing_cycles(size, tried, profile);
    if (best != 0 && taken >= best) continue;
    plan = tried;
    best = taken;
  }
}

// Chooses how blocks share batch entries, rows and panels. A group is at most as many panels as
// stay in their cache while row tiles pass by.
void choose_blocks(const ContractionSize& size, double cycles, int64_t group_limit,
                   const DeviceProfile& profile, ContractionPlan& plan) {
  // Reading the panels, when the rows are too few to hide it.
  const double read = static_cast<double>(size.columns * size.reduction * 4) / 64 *
                      static_cast<double>(profile.costs.memory_line) / 100;
  const int64_t wanted = count_blocks(std::max(cycles, read) * static_cast<double>(size.batch),
                                      kMaxContractionBlocks, profile);
  const int64_t tiles = ceil_div(size.rows, plan.rows);
  const int64_t per_entry = std::max<int64_t>(1, wanted / size.batch);
  // Many small batch entries: several are in a block.
  plan.batch_blocks = even_parts(size.batch, wanted);
  if (size.prepared.bytes > 0)
    return choose_prepared_blocks(size, cycles, per_entry, group_limit, profile, plan);
  if (size.prepared_column_cycles > 0) {
    split_prepared(size, per_entry, plan);
    plan.panel_group = group_limit;
  } else if (plan.panels <= group_limit) {
    plan.panel_group = plan.panels;
    plan.row_blocks = even_parts(tiles, per_entry);
    if (plan.row_blocks * 2 <= per_entry)
      plan.panel_blocks = even_parts(plan.panels, per_entry / plan.row_blocks);
  } else {
    const int64_t groups = ceil_div(plan.panels, group_limit);
    plan.panel_blocks = even_parts(plan.panels, std::max(std::min(per_entry, plan.panels), groups));
    if (plan.panel_blocks > per_entry) plan.panel_blocks = std::max<int64_t>(1, per_entry);
    if (plan.panel_blocks * 2 <= per_entry)
      plan.row_blocks = even_parts(tiles, per_entry / plan.panel_blocks);
    plan.panel_group = group_limit;
  }
  plan.panel_group = std::min(plan.panel_group, ceil_div(plan.panels, plan.panel_blocks));
}

// Makes the plan for a tile with which a batch entry takes so many cycles.
ContractionPlan plan_with(const RegisterTile& tile, const ContractionSize& size, double cycles,
                          int64_t group_limit, const DeviceProfile& profile) {
  ContractionPlan plan;
  plan.lanes = tile.lanes;
  plan.vectors = tile.vectors;
  plan.rows = tile.rows;
  plan.nr = int64_t{tile.lanes} * tile.vectors;
  plan.panels = ceil_div(size.columns, plan.nr);
  choose_blocks(size, cycles, group_limit, profile, plan);
  if (size.prepared.bytes > 0) cycles += sharing_cycles(size, plan, profile);
  plan.cycles = (cycles + preparation_cycles(size, plan.row_blocks, plan.panel_blocks)) *
                static_cast<double>(size.batch);
  plan.blocks = static_cast<uint32_t>(plan.batch_blocks * plan.row_blocks * plan.panel_blocks);
  return plan;
}

ContractionPlan plan_with(const RegisterTile& tile, const ContractionSize& size,
                          const DeviceProfile& profile) {
  const int64_t bytes = panel_bytes(size, int64_t{tile.lanes} * tile.vectors);
  const int64_t in_second_cache = std::max<int64_t>(1, profile.l2_bytes / 2 / bytes);
  return plan_with(tile, size, entry_cycles(tile, size, profile), in_second_cache, profile);
}

// ---- dot products

RegisterTile dot_tile(const DeviceProfile& profile) { return {profile.vector_bits / 32, 1, 1}; }

// Returns the cycles of one row.
double dot_cycles(const ContractionSize& size, const DeviceProfile& profile) {
  const int64_t tiles = ceil_div(size.columns, dot_tile(profile).lanes);
  return static_cast<double>(tiles) * dot_tile_cycles(size.reduction, profile);
}

// Returns the most rows for which dot products cost no more than packing B for such tiles, and
// these.
int64_t count_dot_rows(ContractionSize size, const RegisterTile& tile,
                       const DeviceProfile& profile) {
  constexpr int64_t kMaxDotRows = 64;
  const double row = dot_cycles(size, profile);
  const double packing = packing_cycles(size.columns * size.reduction, profile);
  int64_t rows = 0;
  for (size.rows = 1; size.rows <= kMaxDotRows; ++size.rows) {
    if (static_cast<double>(size.rows) * row > packing + entry_cycles(tile, size, profile)) break;
    rows = size.rows;
  }
  return rows;
}

// Returns whether the columns of B, which are not packed, and the rows of A are contiguous.
bool can_take_dots(const MatMulSpec& spec) {
  return !spec.b_packed && !spec.n.is_fixed_at(1) && spec.b_row_stride.is_fixed_at(1) &&
         spec.a_k_stride.is_fixed_at(1);
}

}  // namespace

// Rows that all panels of a block pass by while they are in the first cache need no chunk; the rows
// of others stay in the second one.
int64_t choose_chunk_tiles(const ContractionSize& size, const ContractionPlan& plan,
                           const DeviceProfile& profile) {
  const int64_t panels = ceil_div(plan.panels, plan.panel_blocks);
  const int64_t tiles = ceil_div(ceil_div(size.rows, plan.rows), plan.row_blocks);
  if (plan.panel_group >= panels && size.prepared.shared == 0) return 1;
  const int64_t limit = profile.l2_bytes / 4 / (size.prepared.bytes * plan.rows);
  return ceil_div(tiles, ceil_div(tiles, std::clamp<int64_t>(limit, 1, tiles)));
}

ContractionPlan choose_plan(const ContractionSize& size, const DeviceProfile& profile) {
  return plan_with(choose_tile(size, profile), size, profile);
}

TileOperands tile_operands(DType dtype, const DeviceProfile& profile) {
  TileOperands operands;
  const bool is_widened =
      dtype == DType::kF16 || (dtype == DType::kBF16 && !profile.bf16_dot_product);
  operands.reserved_registers = is_widened ? 1 : 0;
  return operands;
}

ContractionPlan choose_symbolic_plan(ContractionSize size, bool rows_are_symbolic,
                                     bool columns_are_symbolic, const DeviceProfile& profile) {
  for (int64_t* extent : {&size.rows, &size.columns, &size.reduction, &size.batch})
    *extent = std::max<int64_t>(*extent, 1);
  ContractionSize many = size;
  if (rows_are_symbolic) many.rows = 360360;  // every number of rows divides it
  if (columns_are_symbolic) many.columns = 960;
  return plan_with(choose_tile(many, profile), size, profile);
}

ContractionPlan choose_matmul_plan(const MatMulSpec& spec, const DeviceProfile& profile) {
  ContractionSize size;
  size.rows = spec.m.nominal;
  size.columns = spec.n.nominal;
  size.reduction = spec.k.nominal;
  Extent size_of_batch = 1;
  for (const BatchAxis& axis : spec.batch) size_of_batch *= axis.size;
  size.batch = size_of_batch.nominal;
  size.row_bytes = spec.a_row_stride.nominal * 4;
  size.operands = tile_operands(spec.dtype, profile);
  const bool is_symbolic =
      !size_of_batch.is_fixed() || !spec.m.is_fixed() || !spec.n.is_fixed() || !spec.k.is_fixed();
  ContractionPlan plan =
      is_symbolic ? choose_symbolic_plan(size, !spec.m.is_fixed(), !spec.n.is_fixed(), profile)
                  : choose_plan(size, profile);
  if (!can_take_dots(spec)) return plan;
  const int64_t rows = count_dot_rows(size, {plan.lanes, plan.vectors, plan.rows}, profile);
  if (spec.m.is_fixed() && spec.m.factor <= rows) {
    const double cycles = static_cast<double>(size.rows) * dot_cycles(size, profile);
    plan = plan_with(dot_tile(profile), size, cycles, 1, profile);  // a panel in the first cache
  }
  plan.dot_rows = rows;
  return plan;
}

}  // namespace sluice
