// Finds the bytes of constants: --model FILE replaces the locations in a model file, or in external
// data beside it, by those in copies that moved; --store DIR sets the folder of constants in a
// store.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Points every constant in a store at the folder `store` (common/base/store.h), which is not opened
// yet, and every constant in a file at the same bytes of `model`, or of the file with the old name
// in the folder of `model`, where there is one. The latter are hashed: a file with other bytes is
// kMissingSegment, and so is a constant without location. An empty path leaves its constants
// unchanged.
Result<void> find_constants(Module& module, const std::string& store, const std::string& model);

}  // namespace sluice
