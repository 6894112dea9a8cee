// Checks the memory plan of a compiled model by replaying its tasks, and measures it. Independent:
// shares no code with the planner that chose the places or the executor that uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.pb.h"

namespace sluice {

// Returns the faults in the places of a part's values, a sentence each, at most `limit`.
// weights_bytes is the size of the weights segment. Types, storages and operands were verified.
//
// The bytes of a value are rows (Footprint) where it has a capacity, otherwise all of its range.
// Tasks are replayed in an order that streams and events allow. A value is intact from when it is
// made until another one is written to one of its bytes:
//
// - the result of a task is made by it,
// - a view (alias_value) after its task, if it has the bytes of a value that the task made or
//   completed, from the first on,
// - a whole that no task writes once all its pieces are intact,
// - a piece of another whole, which nothing else makes, with its whole,
// - inputs and constants, and pieces of them, are always intact.
//
// Faults are, of places: one that is not a multiple of 64 bytes (4, in a part with pieces) or is
// outside its region; storage smaller than the type or the rows need; a capacity narrower than its
// value, or of rows at unequal distances; a value that is a piece of itself; a piece with bytes
// outside its whole; pieces that share bytes of a whole that no task writes, or leave a gap. These
// end the check, because the others suppose them. Of tasks: a write to an input or a constant;
// results of one task that overlap each other, or an operand other than by covering it exactly
// (launches only); a value made twice; a read of one that is not intact; a view of nothing that its
// task made; an output that is not filled by intact values at the end.
//
// Takes about 1 µs for a task, and for each pair of values that lie between each other's rows at
// the time one of them is written about 25 ns.
std::vector<std::string> find_memory_faults(const pb::ModelDef& model, const pb::FixedPart& part,
                                            uint64_t weights_bytes, size_t limit = 20);

// Sizes in bytes. Live bytes are those of the arena's values, each from the task that makes it to
// the last that reads it, with storage rounded up to 64. Values that share bytes on purpose count
// once, with the bytes from the first to the last of them, from the first task that writes one to
// the last that uses one: an operand and the result in its place, views, a whole and its pieces.
// Inputs, outputs and constants do not count.
struct MemoryFigures {
  uint64_t arena = 0;
  uint64_t live = 0;                // the maximum over all tasks
  uint64_t dense_live = 0;          // the same with the bytes of the logical types
  uint64_t scratch_per_worker = 0;  // as the part declares it
  uint64_t kernel_scratch =
      0;  // the largest of any kernel the part launches; never above scratch_per_worker
};

// The part must have no faults.
MemoryFigures measure_memory(const pb::ModelDef& model, const pb::FixedPart& part);

}  // namespace sluice
