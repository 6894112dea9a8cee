// The bytes of the buffers of an arena.
#pragma once

#include <cstdint>

#include "common/ir/memory.h"
#include "common/ir/module.h"

namespace sluice {

inline constexpr uint64_t kValueAlignment = 64;

// Returns the bytes that a buffer takes in an arena: the largest that they can be, aligned; 0 where
// they have no maximum.
uint64_t arena_bytes_of(const Module& module, const MemoryBuffer& buffer,
                        uint64_t alignment = kValueAlignment);

}  // namespace sluice
