#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Gives constants that are named by digest the location they have in the graph file at path.
Result<void> take_bytes(Module& module, const std::string& path);
// How many constants still have only a digest.
size_t count_missing_bytes(const Module& module);

}  // namespace sluice
