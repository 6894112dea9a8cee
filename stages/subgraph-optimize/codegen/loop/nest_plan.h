// How one nest becomes code: which axis runs along the lanes of vectors, what is written out, and
// how the work is split into blocks.
#pragma once

#include <optional>

#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/loop/flat_nest.h"

namespace sluice {

// A body of so many instructions takes long to compile.
inline constexpr size_t kLongBody = 32;

struct NestPlan {
  // The axis along the lanes. kOuter: an outer axis; every sweep computes that many points at once.
  // kInner: the last axis of each sweep; accumulators are vectors that are combined at its end.
  // kNone: one element after the other.
  enum class Vector : uint8_t { kNone, kOuter, kInner };
  Vector vector = Vector::kNone;
  loop::AxisId axis = -1;  // kOuter
  // Squares of `lanes` points along this outer axis and along `axis` are loaded along it and
  // transposed in registers; -1: no load wants that.
  loop::AxisId tile_axis = -1;
  // An outer axis whose points share most of the work, which is done once before its loop, the
  // innermost; -1: none.
  loop::AxisId repeat_axis = -1;
  int lanes = 1;
  int unroll = 1;  // vectors computed side by side
  // Whole vectors are stored past the caches: the operands are larger than the last one.
  bool bypasses_caches = false;
  double cycles = 0;     // estimated for the whole nest at the nominal sizes
  int64_t elements = 1;  // iterations of the innermost loops, nominal
};

NestPlan plan_nest(loop::LoopGraph& graph, const FlatNest& nest, const DeviceProfile& profile);

// The bytes of all operands at the nominal sizes; of one of which a part is read, as by a gather,
// no more than there are loads.
double operand_bytes(const loop::LoopGraph& graph);
// The value of an expression over sizes at the nominal sizes; axes are 0.
int64_t nominal_number(const loop::LoopGraph& graph, ExpressionId id);

// Which instructions differ between lanes when this symbol runs along them. `inner` are the last
// axes of the sweeps (kInner), whose accumulators are equal in all lanes afterwards.
std::vector<bool> differing_instructions(const loop::LoopGraph& graph, const FlatNest& nest,
                                         const std::vector<SymbolId>& lane_symbols, bool is_inner);
// How often each element of a contiguous run is repeated along the lanes, as where an image is
// enlarged: the offset grows by one with floordiv(lane axis, times) and with nothing else. 1: it is
// not of that form. Pieces begin at multiples of the number of lanes.
int64_t repeated_times(loop::LoopGraph& graph, ExpressionId offset, SymbolId lane, int lanes);
// Whether the elements that a load reads are neighbours along the tile axis, not along the lanes,
// and its guards are the same for all points of the tile axis. differing: of both axes.
bool is_tile_load(loop::LoopGraph& graph, const FlatNest& nest, loop::InstructionId id,
                  SymbolId lane, SymbolId tile, const std::vector<bool>& differing);
// Whether the value of an expression differs when one of the symbols does, or a value that it
// mentions.
bool expression_differs(const loop::LoopGraph& graph, ExpressionId id,
                        const std::vector<SymbolId>& symbols, const std::vector<bool>& differing);

}  // namespace sluice
