// The arena of a part as the planner of offsets sees it.
#pragma once

#include <cstdint>

#include "common/ir/memory.h"
#include "common/ir/module.h"
#include "common/omfile/buffer.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

inline constexpr uint64_t kValueAlignment = 64;

// Returns the bytes that a buffer takes in an arena: the largest that they can be, aligned; 0 where
// they have no maximum.
uint64_t arena_bytes_of(const Module& module, const MemoryBuffer& buffer,
                        uint64_t alignment = kValueAlignment);

// Returns the buffer with one range of tasks, in which no other buffer may have its bytes: from its
// first task to the last one before which some stream is not yet done with it.
Buffer arena_buffer(const MemoryBuffer& buffer, const HappensBefore& order, uint64_t bytes);

}  // namespace sluice
