// --model FILE: takes constants that lie in a model file from a copy of it that moved.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Points every constant that lies in a file at the same bytes of `path`. Each is hashed: a file with other bytes is kMissingSegment, and so
// is a constant that lies nowhere.
Result<void> rebind_constants(Module& module, const std::string& path);

}  // namespace sluice
