// Where the bytes of constants are found: --model FILE takes those that lie in a model file from a copy of it that moved, --store DIR those
// that lie in a store.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Points every constant that lies in a file at the same bytes of `path`. Each is hashed: a file with other bytes is kMissingSegment, and so
// is a constant that lies nowhere.
Result<void> rebind_constants(Module& module, const std::string& path);

// Points every constant that lies in a store at that folder (common/base/store.h). Nothing is opened yet.
void bind_store(Module& module, const std::string& store);

}  // namespace sluice
