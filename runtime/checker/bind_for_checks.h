// Numbers for symbolic sizes, so that the checkers here, which know nothing of symbols, can look at a symbolic part.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// The model with part `part`, and all types, bound to sizes that its inputs may have: about 3, or where that is too small 32 or 256.
// Error: the part takes none of these; what the last one met.
Result<pb::ModelDef> bind_to_some_sizes(const pb::ModelDef& model, int part);
// The same for who passes over such a part.
std::optional<pb::ModelDef> bind_for_checks(const pb::ModelDef& model, int part);

}  // namespace sluice
