// Checks a compiled model as the loader will, before it is written.
#pragma once

#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// Returns kInternal, with the loader's own words, for what the loader would reject: that is a fault
// of the compiler. O(ModelDef); reads no weights.
Result<void> verify_loadable(const pb::ModelDef& model);

}  // namespace sluice
