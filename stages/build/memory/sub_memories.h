// The placement of buffers in sub-memories: allocations of bounded size, where a device gives none
// that is as large as the whole arena.
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

struct SubMemoryPlan {
  std::vector<uint64_t> offsets;       // by buffer; one sub-memory follows on another
  std::vector<uint64_t> sub_memories;  // bytes of each, none of which a buffer reaches out of
};

// Places buffers by the best-fit planners so that no sub-memory has more than `largest` bytes, but
// for those of a buffer that has more itself; the smallest sum is kept. largest: above 0, a
// multiple of the alignment of the buffers' bytes.
SubMemoryPlan plan_sub_memories(const std::vector<Buffer>& buffers, uint64_t largest);

}  // namespace sluice
