// The waits of a part for events.
#pragma once

#include "model.pb.h"

namespace sluice {

// Returns how many records of its event a wait is for.
inline uint32_t awaited_record(const pb::FixedPart& part, int task) {
  return part.task_record_size() == 0 ? 1 : part.task_record(task);
}

}  // namespace sluice
