// Constants. Up to kSmallSegmentBytes their bytes are in the graph; larger ones are identified by
// digest and found through a Location.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/ir/type.h"

namespace sluice {

inline constexpr uint64_t kSmallSegmentBytes = 1024;
// Folding evaluates a node at once only when the node reads and produces at most this.
inline constexpr uint64_t kFoldLimitBytes = 64 * 1024;

enum class SegmentKind : uint8_t {
  kSmall,       // data has the bytes
  kBytes,       // found by digest
  kSplat,       // data has one element, repeated
  kExpression,  // result 0 of graph `graph` over segments `inputs`; evaluated by build
  kParameter,   // a constant that the caller of this graph binds; only on graph inputs
};

enum class Where : uint8_t { kNone, kHere, kFile, kStore };

// The location of the bytes of a kBytes segment. It is part of no digest.
struct Location {
  Where where = Where::kNone;
  std::shared_ptr<const void> owner;  // kHere: keeps `bytes` alive
  std::span<const std::byte> bytes;   // kHere
  // kFile: absolute. kStore: empty until the folder of the store is known.
  std::string path;
  uint64_t offset = 0;   // kFile
  int64_t mtime_ns = 0;  // kFile: of the file when the bytes were hashed
};

struct Segment {
  SegmentKind kind = SegmentKind::kSmall;
  TypeId type = 0;  // a fixed tensor, except for kParameter
  // For kSmall and kBytes the SHA-256 of the bytes, for kExpression over the graph and the inputs'
  // digests.
  Digest digest;
  uint64_t size = 0;              // bytes, expanded for kSplat
  std::vector<std::byte> data;    // kSmall, kSplat
  GraphId graph = -1;             // kExpression
  std::vector<SegmentId> inputs;  // kExpression
  uint32_t parameter = 0;         // kParameter: the index given to make_parameter
  Location location;              // kBytes
};

}  // namespace sluice
