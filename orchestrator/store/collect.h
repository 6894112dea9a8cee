// Deletes what a store has too much of: files that have not been used for long, and what killed
// programs left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/store/store.h"

namespace sluice {

struct CollectRequest {
  std::optional<uint64_t> max_bytes;  // with more than this …
  uint64_t goal_bytes = 0;            // … files are deleted until the store has at most this
  std::optional<int64_t> older_than;  // files that were not used for so many nanoseconds
  bool is_trial = false;              // nothing is deleted
};

struct FileCount {
  uint64_t artifacts = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of files that have no other name
};

struct Collected {
  bool is_busy = false;  // another process is at it: nothing was done
  FileCount deleted;
  FileCount left;
  uint64_t leftover = 0;  // unfinished files that were deleted
  uint64_t in_use = 0;    // artifacts and records that stay although they were to go
};

// Deletes artifacts with the records that name them, those first that were used longest ago. What
// running programs need stays (common/store/store_pins.h), and so does what is used in the
// meantime. An artifact that has another name goes only when it is too old: its bytes would not
// become free. Errors: those of read_content; kIo, when the store cannot be written.
Result<Collected> collect(const std::string& store, const CollectRequest& request);

// Keeps a store below its limit, if it has one: when it has more, files are deleted down to nine
// tenths. Errors: those of collect.
Result<void> collect_if_full(const std::string& store);
// Does so when something was kept since the last call.
Result<void> collect_if_full(Store& store);

}  // namespace sluice
