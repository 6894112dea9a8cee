#include "stages/subgraph-optimize/codegen/cost.h"

#include <algorithm>

namespace sluice {
namespace {

double in_cycles(int64_t cost) { return static_cast<double>(cost) / 100; }

double vectors_of(int64_t elements, const DeviceProfile& profile) {
  return static_cast<double>(elements) * 32 / profile.vector_bits;
}

bool is_wide(int lanes) { return lanes * 32 > 256; }

double load_cycles(int lanes, const DeviceProfile& profile) {
  return in_cycles(is_wide(lanes) ? profile.costs.wide_load : profile.costs.load);
}

// Returns the cycles of one reduction step of a tile: those of the busier of the multiply-add and
// the load units. Without fused multiply-add and broadcasting loads, the number of instructions
// decides: copy, multiply, add per sum; load and shuffle per row.
double step_cycles(const RegisterTile& tile, const TileOperands& operands,
                   const DeviceProfile& profile) {
  const double products =
      tile.sums() * multiply_add_cycles(tile.lanes, profile) +
      tile.vectors * operands.instructions_per_vector * in_cycles(profile.costs.simple);
  if (!profile.fused_multiply_add) {
    const double instructions = 3 * tile.sums() + 2.5 * tile.rows + tile.vectors;
    return std::max(products, instructions * in_cycles(profile.costs.instruction));
  }
  const double loads = tile.vectors * operands.loads_per_vector * load_cycles(tile.lanes, profile) +
                       tile.rows * in_cycles(profile.costs.load);
  // Rows and vectors that are not the bottleneck still have a cost: streams to prefetch, code to
  // compile.
  return std::max(products, loads) + 0.03 * tile.rows + 0.05 * tile.vectors;
}

// A block takes at least so many times what a launch does.
constexpr double kBlockLaunches = 20;

double block_cycles(const DeviceProfile& profile) {
  return kBlockLaunches * in_cycles(profile.costs.launch);
}

}  // namespace

double multiply_add_cycles(int lanes, const DeviceProfile& profile) {
  return in_cycles(is_wide(lanes) ? profile.costs.wide_multiply_add : profile.costs.multiply_add);
}

// Beyond these limits LLVM's register allocator starts to spill (found by counting).
bool fits_registers(const RegisterTile& tile, const TileOperands& operands,
                    const DeviceProfile& profile) {
  const bool has_few = profile.vector_registers < 32;
  // A product is a value of its own until it is added.
  if (!profile.fused_multiply_add) return tile.sums() <= profile.vector_registers / 2 + 1;
  if (has_few && tile.vectors == 1) return tile.sums() <= profile.vector_registers / 2;
  return tile.sums() + tile.vectors + 1 + operands.reserved_registers <= profile.vector_registers;
}

int max_rows(int lanes, int vectors, const TileOperands& operands, const DeviceProfile& profile) {
  int rows = 1;
  while (fits_registers({lanes, vectors, rows + 1}, operands, profile)) ++rows;
  return rows;
}

double tile_cycles(const RegisterTile& tile, int64_t reduction, const TileOperands& operands,
                   const DeviceProfile& profile) {
  return static_cast<double>(reduction) * step_cycles(tile, operands, profile) +
         in_cycles(profile.costs.tile) + tile.sums() * in_cycles(profile.costs.sum);
}

// The columns serve all rows one after the other: they come from the second cache where they fill
// more than half of the first. Sums are added up by an addition and two shuffles for each.
double dot_tile_cycles(int64_t reduction, const DeviceProfile& profile) {
  const int lanes = profile.vector_bits / 32;
  const int64_t vector_bytes = profile.vector_bits / 8;
  const int64_t steps = (reduction + lanes - 1) / lanes;
  const double products = lanes * multiply_add_cycles(lanes, profile);
  const double loads = (lanes + 1) * load_cycles(lanes, profile);
  const bool stay = steps * lanes * vector_bytes <= profile.l1_bytes / 2;
  const double lines = stay ? 0 : static_cast<double>(lanes * vector_bytes) / 64;
  const double step = std::max({products, loads, lines * in_cycles(profile.costs.l2_line)});
  return static_cast<double>(steps) * step + 3 * lanes * in_cycles(profile.costs.simple) +
         in_cycles(profile.costs.tile) + in_cycles(profile.costs.sum);
}

double conflict_factor(int rows, int64_t row_bytes, const DeviceProfile& profile) {
  constexpr double kConflict = 1.3;
  const int64_t span = profile.l1_bytes / profile.l1_ways;  // lines so far apart share a set
  if (row_bytes == 0 || span < 2 || row_bytes % (span / 2) != 0) return 1;
  const int used = row_bytes % span == 0 ? rows : (rows + 1) / 2;
  return used >= profile.l1_ways ? kConflict : 1;
}

// Its loads and stores overlap with what exchanges elements.
double packing_cycles(int64_t elements, const DeviceProfile& profile) {
  return vectors_of(elements, profile) * in_cycles(profile.costs.pattern);
}

double copy_cycles(int64_t elements, const DeviceProfile& profile) {
  return vectors_of(elements, profile) * in_cycles(profile.costs.pattern + profile.costs.access) +
         in_cycles(profile.costs.launch);
}

double repack_cycles(double vectors, const DeviceProfile& profile) {
  const Costs& costs = profile.costs;
  return vectors * in_cycles(costs.load + costs.simple + costs.access);
}

double fetch_cycles(int64_t bytes, const DeviceProfile& profile) {
  return static_cast<double>(bytes) / 64 * in_cycles(profile.costs.last_cache_line);
}

double memory_cycles(double bytes, const DeviceProfile& profile) {
  const Costs& costs = profile.costs;
  const int64_t line = bytes <= static_cast<double>(profile.l2_bytes) ? costs.l2_line
                       : bytes <= static_cast<double>(profile.last_cache_bytes)
                           ? costs.last_cache_line
                           : costs.memory_line;
  return bytes / 64 * in_cycles(line);
}

uint32_t count_blocks(double cycles, int64_t items, const DeviceProfile& profile) {
  const auto wanted = static_cast<int64_t>(cycles / block_cycles(profile));
  return static_cast<uint32_t>(std::min<int64_t>(
      std::max<int64_t>(items, 1), std::clamp<int64_t>(wanted, 1, kMaxContractionBlocks)));
}

int64_t multiply_adds_per_block(const Extent& multiply_adds, double cycles,
                                const DeviceProfile& profile) {
  const double per_cycle =
      static_cast<double>(std::max<int64_t>(multiply_adds.nominal, 1)) / std::max(cycles, 1.0);
  return std::max<int64_t>(1, static_cast<int64_t>(block_cycles(profile) * per_cycle));
}

}  // namespace sluice
