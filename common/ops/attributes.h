// The names that attributes are read by, made from attributes.def:
// `node.get(attributes::Gemm::alpha)` returns the node's own value, or the default of the table.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::attributes {

#include "common/ops/attribute_names.inc"
#include "common/ops/attributes.def"

}  // namespace sluice::attributes
