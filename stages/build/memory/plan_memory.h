// The memory plan: for every value its region, offset and size.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "stages/build/tasks/tasks.h"

namespace sluice {

enum class Place : uint8_t { kArena, kWeights, kInput, kOutput };

struct ValuePlace {
  Place place = Place::kArena;
  uint32_t binding = 0;  // kInput, kOutput: which one
  uint64_t offset = 0;   // bytes within the region
  uint64_t bytes = 0;    // of its storage; 0 when it has no fixed size
  int32_t buffer = -1;   // in the arena
};

// A buffer of the arena, and the tasks during which it holds something, both included.
struct BufferLife {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t offset = 0;  // when the plan is placed
};

struct MemoryPlan {
  std::vector<ValuePlace> places;  // by value id of the root
  std::vector<BufferLife> arena_buffers;
  bool is_placed = true;  // false: some value has no largest size, and buffers get their offsets
                          // when the model runs
  uint64_t arena_bytes = 0;
  uint64_t live_bytes = 0;    // the most alive in any task; no arena can be smaller
  uint64_t buffers = 0;       // that got an offset
  uint64_t buffer_pairs = 0;  // looked at for it
};

inline constexpr uint64_t kValueAlignment = 64;

// Values that share bytes (views, results written over an operand) share a place. Inputs are read
// where the caller bound them, outputs written there. A kernel's result overwrites an operand when
// that operand dies there, has the same type and storage, and is read only elementwise behind the
// anchor. Of symbolic sizes the largest counts, where dims are bounded. constant_offsets: by
// SegmentId, offsets in the weights region. Error: kLimit when a part of fixed sizes needs a larger
// arena than any model may have; one whose largest sizes would need it is placed when it runs.
Result<MemoryPlan> plan_memory(const Graph& root, const TaskList& list,
                               const std::vector<uint64_t>& constant_offsets);

uint64_t storage_bytes(const Value& value);

}  // namespace sluice
