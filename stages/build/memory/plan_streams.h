// The placement of the buffers of several streams. One range of tasks for each buffer
// (MemoryBuffer::held) keeps its bytes until every stream knows that they are free; here a buffer
// may have the bytes of another one as soon as the tasks of its own streams know it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ir/memory.h"
#include "stages/build/memory/live_peak.h"
#include "stages/build/memory/planners/planners.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

// A buffer of an arena: when it is needed, and how many bytes it takes there.
struct StreamBuffer {
  const MemoryBuffer* buffer;
  uint64_t bytes;
};

inline constexpr size_t kMaxStreamBuffers = 16'384;

// Places buffers one by one, each at the best gap among those placed that may be live together with
// it, in several orders (by size, size times conflicts, conflicts, time), and keeps the smallest
// arena. Two buffers may be live together unless one is free before the other begins: each task
// that needs it is done before each task that first needs the other, in every stream. Buffers are
// no more than kMaxStreamBuffers. O(B^2) for each order.
OffsetPlan plan_streams(std::span<const StreamBuffer> buffers, const HappensBefore& order);

// Returns what no arena of these buffers can go below: the maximum of live bytes over all tasks, a
// buffer being live from its first to its last task in the order of tasks. Two such buffers always
// may be live together.
LivePeak stream_peak(std::span<const StreamBuffer> buffers);

}  // namespace sluice
