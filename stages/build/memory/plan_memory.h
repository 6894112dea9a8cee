// The memory plan has a region, an offset and a size for every value.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/omfile/buffer.h"
#include "stages/build/tasks/tasks.h"

namespace sluice {

enum class Place : uint8_t { kArena, kWeights, kInput, kOutput };

struct ValuePlace {
  Place place = Place::kArena;
  uint32_t binding = 0;  // kInput, kOutput: its index
  uint64_t offset = 0;   // bytes within the region
  uint64_t bytes = 0;    // of its storage; 0 when it has no fixed size
  int32_t buffer = -1;   // index of the arena's buffer
};

struct MemoryPlan {
  std::vector<ValuePlace> places;  // by value id of the root
  std::vector<Buffer> arena_buffers;
  // False: some value has no maximum size, and buffers get their offsets when the model runs.
  bool is_placed = true;
  uint64_t arena_bytes = 0;
  uint64_t live_bytes = 0;    // maximum of live bytes over all tasks; no arena can be smaller
  uint64_t buffer_pairs = 0;  // number of pairs compared for it
};

inline constexpr uint64_t kValueAlignment = 64;

// Plans memory. Values that share bytes (views, results written over an operand) share a place.
// Inputs are read where the caller bound them, and outputs are written there. A kernel's result
// overwrites an operand when that operand dies there, has the same type and storage, and is read
// only elementwise after the anchor. Symbolic sizes count with their maximum, where dims are
// bounded. constant_offsets: by SegmentId, offsets in the weights region. Returns kLimit when a
// part of fixed sizes needs a larger arena than any model may have; one whose maximum sizes would
// need it is placed when it runs.
Result<MemoryPlan> plan_memory(const Graph& root, const TaskList& list,
                               const std::vector<uint64_t>& constant_offsets);

uint64_t storage_bytes(const Value& value);

}  // namespace sluice
