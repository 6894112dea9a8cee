// The names that the operators of this folder read attributes by, made from attributes.def:
// `call.get(microsoft_attributes::QuickGelu::alpha)` returns the node's own value, or the default
// of the table.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::microsoft_attributes {

#include "common/ops/attribute_names.inc"
#include "stages/preprocess/onnx/microsoft/attributes.def"

}  // namespace sluice::microsoft_attributes
