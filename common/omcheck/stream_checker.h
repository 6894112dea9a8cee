// Checks that the streams and events of a compiled model order everything that must be ordered.
// Independent: shares no code with the compiler that chose them or the executor that obeys them.
// Its time grows with the places in memory that share bytes, and the streams that access them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.pb.h"

namespace sluice {

// Two tasks that may run at the same time and touch common bytes, at least one of them writing; or
// two of one event, such as its records, that may come in either order: they have no bytes.
struct StreamConflict {
  uint32_t first_task = 0;  // first < second, numbers in the part
  uint32_t second_task = 0;
  uint32_t region = 0;
  uint64_t begin = 0;  // [begin, end) within the region contains the bytes
  uint64_t end = 0;
  std::string text;  // "launches 'a19' (task 19, stream 'a') and 'b0' (task 63, stream 'b') may
                     // overlap: … bytes [0, 1024) of the arena"
};

// Returns the conflicts of a part, by task numbers, one for each pair of tasks (its first common
// operand's), at most `limit`. Tasks that access bytes between each other's rows (Footprint) share
// none. A wait for an event that is never recorded orders nothing.
std::vector<StreamConflict> find_stream_conflicts(const pb::ModelDef& model,
                                                  const pb::FixedPart& part, size_t limit = 100);

}  // namespace sluice
