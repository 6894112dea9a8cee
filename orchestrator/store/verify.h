// Checks that the artifacts of a store are what their names say, that its records can be read, and
// which artifacts that they name are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct StoreFaults {
  std::vector<std::string> damaged;  // a sentence for each file
  // Records of artifacts that are not there, which is no damage: they may have been deleted, or be
  // in a remote store.
  std::vector<std::string> missing;
  uint64_t artifacts = 0;  // that were checked
  uint64_t records = 0;
};

// deletes: what is damaged is deleted. Errors: those of read_content; kIo.
Result<StoreFaults> find_faults(const std::string& store, bool deletes);

}  // namespace sluice
