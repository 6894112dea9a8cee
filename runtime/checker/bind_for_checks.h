// Numbers for symbolic sizes, so that the checkers here, which know nothing of symbols, can look at a symbolic part.
#pragma once

#include <optional>

#include "model.pb.h"

namespace sluice {

// The model with part `part`, and all types, bound to sizes that its inputs may have: about 3, or where that is too small 32 or 256.
// nullopt when the part takes none of these.
std::optional<pb::ModelDef> bind_for_checks(const pb::ModelDef& model, int part);

}  // namespace sluice
