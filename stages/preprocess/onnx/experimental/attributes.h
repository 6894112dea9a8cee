// The names that the operators of this folder read attributes by, made from attributes.def:
// `call.get(experimental_attributes::Affine::alpha)` returns the node's own value, or the default
// of the table.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::experimental_attributes {

#include "common/ops/attribute_names.inc"
#include "stages/preprocess/onnx/experimental/attributes.def"

}  // namespace sluice::experimental_attributes
