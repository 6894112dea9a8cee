// The shapes that a run is measured with.
#pragma once

#include <string>
#include <vector>

#include "model.pb.h"
#include "runtime/program/bindings.h"

namespace sluice {

// Returns "x f32 [batch=4, 16]; y i64 [batch=4]". When inputs are random, it also names the option
// for each open dim that has the size 1 because the command line gives no other.
std::string inputs_text(const pb::ModelDef& model, const std::vector<NamedValue>& inputs,
                        const LoaderOptions& options);

}  // namespace sluice
