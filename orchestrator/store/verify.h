// Checks that the artifacts of a store are what their names say, and that its records can be read
// and name artifacts that are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct StoreFaults {
  std::vector<std::string> lines;  // what is wrong, by path
  uint64_t artifacts = 0;          // that were checked
  uint64_t records = 0;
};

// deletes: what is wrong is deleted. Errors: those of read_content; kIo.
Result<StoreFaults> find_faults(const std::string& store, bool deletes);

}  // namespace sluice
