// Checks the memory plan of a compiled model by replaying its tasks, and measures it. Independent:
// shares no code with the planner that chose the places or the executor that uses them; slow and
// plain on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.pb.h"

namespace sluice {

// Returns the faults in the places of a part's values, a sentence each, at most `limit`. Tasks are
// replayed in their order, and the byte ranges of every region record which value was the last to
// write them. Faults are: a place that is not a multiple of 64 bytes or reaches outside its region,
// storage smaller than the type needs; a write to an input or a weight; results of one task that
// overlap each other, or an operand other than by covering it exactly (launches only); a value made
// twice; a read of a byte that another value wrote last, or that nobody wrote; a view (alias_value)
// that shows other bytes than one result of its task; an output that is not written in full at the
// end. weights_bytes is the size of the weights segment.
std::vector<std::string> find_memory_faults(const pb::ModelDef& model, const pb::FixedPart& part,
                                            uint64_t weights_bytes, size_t limit = 20);

// Sizes in bytes. Live bytes are those of the arena's values, each from the task that makes it to
// the last that reads it, with storage rounded up to 64; an operand overwritten in place and views
// count once; inputs, outputs and constants do not count.
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
