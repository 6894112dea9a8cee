// Chooses numbers for symbolic sizes, so that the checkers here, which know nothing of symbols, can
// check a symbolic part.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// Returns the model with part `part`, and all types, bound to sizes that its inputs may have: about
// 3, or where that does not fit 1, 32 or 256. Error: the part takes none of these; the error is
// that of the last attempt.
Result<pb::ModelDef> bind_for_checks(const pb::ModelDef& model, int part);

// Returns the model with part `part`, and all types, bound to the largest sizes, where the part has
// offsets that were planned for them; otherwise nothing.
std::optional<pb::ModelDef> bind_to_largest(const pb::ModelDef& model, int part);

}  // namespace sluice
