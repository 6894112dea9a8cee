// How long a buffer keeps others from having its bytes, where streams run side by side.
#pragma once

#include "common/ir/memory.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

// Returns the range of tasks in which no other buffer may have the bytes of this one, whatever its
// streams: from its first task to the last one before which some stream is not yet done with it.
TaskRange held_tasks(const MemoryBuffer& buffer, const HappensBefore& order);

}  // namespace sluice
