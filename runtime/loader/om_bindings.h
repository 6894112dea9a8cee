// What a fixed part takes and gives.
#pragma once

#include "model.pb.h"

namespace sluice {

using Bindings = google::protobuf::RepeatedPtrField<pb::BindingDef>;

// Its own in a model with a root, else the model's.
inline const Bindings& part_inputs(const pb::ModelDef& model, const pb::FixedPart& part) {
  return model.has_root() ? part.inputs() : model.inputs();
}
inline const Bindings& part_outputs(const pb::ModelDef& model, const pb::FixedPart& part) {
  return model.has_root() ? part.outputs() : model.outputs();
}

}  // namespace sluice
