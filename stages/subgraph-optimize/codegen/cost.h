// What a contraction costs: register tiles, and the blocks of a launch. Every choice of a tile, of
// a kind of kernel and of a number of blocks compares these estimates, whose numbers are facts and
// costs of the device profile. No LLVM is needed.
#pragma once

#include <cstdint>

#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

// Rows x (vectors * lanes) sums that are kept in registers over a whole reduction.
struct RegisterTile {
  int lanes = 0, vectors = 0, rows = 0;

  int sums() const { return rows * vectors; }
};

// How a step of a kind of tile reads its operands.
struct TileOperands {
  // Loads that one vector takes: more than 1 where vectors mostly cross cache lines.
  double loads_per_vector = 1;
  // Simple instructions that one vector takes before it is multiplied.
  int instructions_per_vector = 0;
  // Registers besides sums, a step's vectors and one element of the other operand.
  int reserved_registers = 0;
};

// Returns the cycles of a multiply-add on a vector.
double multiply_add_cycles(int lanes, const DeviceProfile& profile);

// Returns whether the tile's sums and operands fit the registers.
bool fits_registers(const RegisterTile& tile, const TileOperands& operands,
                    const DeviceProfile& profile);

// Returns the most rows, at least 1, of a tile of such vectors that fits.
int max_rows(int lanes, int vectors, const TileOperands& operands, const DeviceProfile& profile);

// Returns the cycles of a whole tile: a call, its reduction, and its results.
double tile_cycles(const RegisterTile& tile, int64_t reduction, const TileOperands& operands,
                   const DeviceProfile& profile);

// Returns the cycles of the dot products of a row with as many columns as vectors have lanes, where
// vectors run along the reduction.
double dot_tile_cycles(int64_t reduction, const DeviceProfile& profile);

// Returns a factor for rows of an operand that lie so many bytes apart and push each other out of
// the first cache; 0 bytes: they do not.
double conflict_factor(int rows, int64_t row_bytes, const DeviceProfile& profile);

// Returns the cycles of packing elements inside a kernel, which exchanges rows and columns, and
// those of a launch that copies elements to another order.
double packing_cycles(int64_t elements, const DeviceProfile& profile);
double copy_cycles(int64_t elements, const DeviceProfile& profile);

// Returns the cycles of so many vectors that are loaded, widened or put in order, and stored.
double repack_cycles(double vectors, const DeviceProfile& profile);

// Returns the cycles that bring bytes into the first caches from the last one.
double fetch_cycles(int64_t bytes, const DeviceProfile& profile);

// Returns the cycles that move bytes through the smallest cache that contains them, or memory.
double memory_cycles(double bytes, const DeviceProfile& profile);

// The most blocks that the launch of a contraction has: enough to keep many threads busy evenly.
inline constexpr uint32_t kMaxContractionBlocks = 32;

// Returns the number of blocks for items of so many cycles together: few enough that each block is
// worth a launch, and at most one for each item.
uint32_t count_blocks(double cycles, int64_t items, const DeviceProfile& profile);

// Returns GeneratedKernel.multiply_adds_per_block for sums that take so many cycles at the nominal
// sizes.
int64_t multiply_adds_per_block(const Extent& multiply_adds, double cycles,
                                const DeviceProfile& profile);

}  // namespace sluice
