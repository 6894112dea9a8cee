// Where the bytes of constants are found: --model FILE takes those that lie in a model file, or in files of external data beside it, from
// copies that moved, --store DIR those that lie in a store.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Points every constant that lies in a file at the same bytes of `path`, or of the file with the old name in the folder of `path`, where
// there is one. Each is hashed: a file with other bytes is kMissingSegment, and so
// is a constant that lies nowhere.
Result<void> rebind_constants(Module& module, const std::string& path);

// Points every constant that lies in a store at that folder (common/base/store.h). Nothing is opened yet.
void bind_store(Module& module, const std::string& store);

}  // namespace sluice
