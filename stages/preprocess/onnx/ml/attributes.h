// The names that the operators of this folder read attributes by, made from attributes.def:
// `call.get(ml_attributes::Binarizer::threshold)` returns the node's own value, or the default of
// the table.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::ml_attributes {

#include "common/ops/attribute_names.inc"
#include "stages/preprocess/onnx/ml/attributes.def"

}  // namespace sluice::ml_attributes
