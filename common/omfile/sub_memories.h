// The allocations that the arena of a part consists of.
#pragma once

#include <cstdint>
#include <vector>

#include "model.pb.h"

namespace sluice {

// Returns where each allocation ends, as an offset in the arena, in order. Without sub-memories
// there is one.
std::vector<uint64_t> arena_ends(const pb::MemoryDef& memory);

// Returns the index of the allocation that bytes of the arena lie in: the first that ends after
// `offset`, or the last. ends: of arena_ends, not empty.
size_t allocation_of(const std::vector<uint64_t>& ends, uint64_t offset);

}  // namespace sluice
