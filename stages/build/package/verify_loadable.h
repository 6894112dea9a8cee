// The last word before a compiled model is written.
#pragma once

#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// What the loader would refuse is a fault of the compiler: kInternal, with the loader's own words.
// O(ModelDef); reads no weights.
Result<void> verify_loadable(const pb::ModelDef& model);

}  // namespace sluice
