// Where the bytes of a graph's values lie and when they are needed: facts of the level scheduled
// (docs/schedule.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/type.h"

namespace sluice {

enum class MemoryClass : uint8_t {
  kArena,    // one block of the part's own, reused while it runs
  kWeights,  // constants, shared by all parts
  kInput,    // what the caller bound to an input
  kOutput,   // what the caller bound to an output
};
std::string_view memory_class_name(MemoryClass memory);  // "arena", …
std::optional<MemoryClass> memory_class_from_name(std::string_view name);

// The tasks of a stream during which bytes are needed: from `first` to `last`, which are positions
// in the graph's order of tasks and belong to the stream.
struct LiveRange {
  uint32_t stream = 0;  // into Graph::streams
  uint32_t first = 0;
  uint32_t last = 0;
  auto operator<=>(const LiveRange&) const = default;
};

// Tasks of all streams, from the first to the last: positions in the graph's order of tasks.
struct TaskRange {
  uint32_t first = 0;
  uint32_t last = 0;
  auto operator<=>(const TaskRange&) const = default;
};

// Returns the tasks from the first to the last of any stream; [0, 0] without ranges.
TaskRange hull_of(const std::vector<LiveRange>& live);

// A class of the device's memory that a graph's values are made in: one that its profile names
// (DeviceProfile::memory_classes).
struct DeviceMemory {
  std::string name;  // "hbm"
  // The bytes of each allocation that it is made of, in the order of offsets.
  std::vector<uint64_t> sub_memories = {};
  bool operator==(const DeviceMemory&) const = default;
};

// Returns where a class of memory begins in the arena: behind the sub-memories of those before it.
uint64_t begin_of(const std::vector<DeviceMemory>& memories, uint32_t memory);

// Consecutive bytes that no value outside of it shares while it is live.
struct MemoryBuffer {
  MemoryClass memory = MemoryClass::kArena;
  // kInput, kOutput: its index; constant inputs do not count. kArena: into Graph::memories, where
  // there are any.
  uint32_t binding = 0;
  Dim bytes = Dim::fixed(0);  // unknown where a value in it has no known size
  // From the start of its memory; in the arena one class follows on another. Unknown: placed when
  // bound.
  Dim offset = Dim::unknown();
  std::vector<LiveRange> live = {};  // by stream; empty for kWeights
  // kArena: outside of these tasks, another buffer may have its bytes, whatever streams use it. It
  // ends later than `live` where some stream learns later that the buffer's tasks are done.
  TaskRange held = {};
  bool operator==(const MemoryBuffer&) const = default;
};

// The place of a value's bytes.
struct MemoryPlace {
  int32_t buffer = -1;         // into Graph::buffers; -1: not decided
  Dim offset = Dim::fixed(0);  // within the buffer
  Dim bytes = Dim::unknown();  // of the value
  // The type whose rows are the wider ones that the value's rows are parts of (store_rows); -1: the
  // value's rows follow on each other.
  TypeId capacity = -1;
  bool operator==(const MemoryPlace&) const = default;
};
inline const MemoryPlace kNoPlace = {};  // not decided

}  // namespace sluice
