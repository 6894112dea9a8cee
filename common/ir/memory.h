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

// A class of the device's memory that a graph's values are made in: one that its profile names
// (DeviceProfile::memory_classes).
struct DeviceMemory {
  std::string name;  // "hbm"
  // The bytes of each allocation that it is made of, in the order of offsets.
  std::vector<uint64_t> sub_memories = {};
  bool operator==(const DeviceMemory&) const = default;
};

// Consecutive bytes that no value outside of it shares while it is live.
struct MemoryBuffer {
  MemoryClass memory = MemoryClass::kArena;
  // kInput, kOutput: its index; constant inputs do not count. kArena: into Graph::memories, where
  // there are any.
  uint32_t binding = 0;
  Dim bytes = Dim::fixed(0);         // unknown where a value in it has no known size
  Dim offset = Dim::unknown();       // from the start of its class; unknown: placed when bound
  std::vector<LiveRange> live = {};  // by stream; empty for kWeights
  bool operator==(const MemoryBuffer&) const = default;
};

// The place of a value's bytes.
struct MemoryPlace {
  int32_t buffer = -1;         // into Graph::buffers; -1: not decided
  Dim offset = Dim::fixed(0);  // within the buffer
  bool operator==(const MemoryPlace&) const = default;
};

}  // namespace sluice
