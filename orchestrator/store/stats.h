// What `sluice cache stats` prints: entries and bytes of a store by kind.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

// Returns the table, or one JSON object, and sets the known size of the store right. Errors: those
// of read_content.
Result<std::string> stats_text(const std::string& store, bool as_json);

}  // namespace sluice
