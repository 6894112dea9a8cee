// The activation that a fused node ends with.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Adds the activation; an empty name means none. parameters: in the activation's own order, as many
// as are given; ONNX's defaults for the others.
Result<Value*> add_activation(ExpandCall& call, Value* x, const std::string& name,
                              const std::vector<float>& parameters);
// Returns whether the activation of this name has an attribute of the name of `parameter`.
bool activation_takes(const std::string& name, const FloatAttribute& parameter);

}  // namespace sluice
