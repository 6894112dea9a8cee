// Where the bytes of constants are found: --model FILE takes those that lie in a model file, or in
// files of external data beside it, from copies that moved, --store DIR those that lie in a store.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Points every constant that lies in a store at the folder `store` (common/base/store.h), which is
// not opened yet, and every constant that lies in a file at the same bytes of `model`, or of the
// file with the old name in the folder of `model`, where there is one. Each of these is hashed: a
// file with other bytes is kMissingSegment, and so is a constant that lies nowhere. An empty path
// leaves its constants alone.
Result<void> find_constants(Module& module, const std::string& store, const std::string& model);

}  // namespace sluice
