#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Gives constants with only a digest the location that they have in the graph file at path.
Result<void> take_bytes(Module& module, const std::string& path);
// Returns the number of constants that still have only a digest.
size_t count_missing_bytes(const Module& module);

}  // namespace sluice
