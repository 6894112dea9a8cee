// The weights region contains every constant that a task or the root reads, once each: those that
// lie in the compiled model, then those that --external-weight puts into files beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/options.h"
#include "common/ir/module.h"

namespace sluice {

// Constants from this size on get files: a file is mapped in pages, and one of less than a page
// would take more memory than its bytes, and a map of its own for them.
inline constexpr uint64_t kMinExternalBytes = 4096;
// A process has 65,530 maps (vm.max_map_count) unless its system says otherwise.
inline constexpr size_t kMaxWeightFiles = 32768;

enum class ExternalWeight : uint8_t { kNone, kShared, kCombined };  // 0, 1 and 2
ExternalWeight external_weight(const Options& options);

struct WeightLayout {
  std::vector<SegmentId> inside;   // in the compiled model, in the order of their offsets
  std::vector<SegmentId> outside;  // in files, in the same order, after those
  // By SegmentId; UINT64_MAX: none. Multiples of 64; of those outside multiples of a page.
  std::vector<uint64_t> offsets;
  uint64_t inside_bytes = 0;
};

// Returns the layout that the buffers of the graphs say; constants of `more` (root_weights) that no
// buffer has come after the others. Returns kVerifyFailed when a constant has two places, or does
// not follow the one before it, which a schedule that was edited may say.
Result<WeightLayout> read_layout(const Module& module, const std::vector<Graph*>& graphs,
                                 const std::vector<SegmentId>& more, ExternalWeight external);

}  // namespace sluice
