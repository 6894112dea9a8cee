// The inputs and outputs of a fixed part.
#pragma once

#include <algorithm>

#include "model.pb.h"

namespace sluice {

using Bindings = google::protobuf::RepeatedPtrField<pb::BindingDef>;

// Returns the part's own inputs in a model with a root, otherwise the model's.
inline const Bindings& part_inputs(const pb::ModelDef& model, const pb::FixedPart& part) {
  return model.has_root() ? part.inputs() : model.inputs();
}
inline const Bindings& part_outputs(const pb::ModelDef& model, const pb::FixedPart& part) {
  return model.has_root() ? part.outputs() : model.outputs();
}

inline bool is_state_input(const pb::ModelDef& model, size_t input) {
  return std::any_of(model.states().begin(), model.states().end(),
                     [&](const pb::StateDef& state) { return state.input() == input; });
}
inline bool is_state_output(const pb::ModelDef& model, size_t output) {
  return std::any_of(model.states().begin(), model.states().end(),
                     [&](const pb::StateDef& state) { return state.output() == output; });
}

}  // namespace sluice
