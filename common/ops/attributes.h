// The names that attributes are read by, made from attributes.def:
// `node.get(attributes::Gemm::alpha)` returns the node's own value, or the default of the table.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::attributes {

#define SLUICE_ATTRIBUTES(set) struct set {
#define SLUICE_ATTRIBUTES_WITH(set, base) struct set : base {
#define SLUICE_END \
  }                \
  ;
#define SLUICE_INT(name, value) static constexpr IntAttribute name{#name, value};
#define SLUICE_FLOAT(name, value) static constexpr FloatAttribute name{#name, value};
#define SLUICE_STRING(name, value, words) static constexpr StringAttribute name{#name, value};
#define SLUICE_INTS(name, each) static constexpr IntsAttribute name{#name, each};
#define SLUICE_FLOATS(name) static constexpr FloatsAttribute name{#name};
#define SLUICE_STRINGS(name) static constexpr StringsAttribute name{#name};
#define SLUICE_TYPE(name) static constexpr TypeAttribute name{#name};
#define SLUICE_TENSOR(name) static constexpr TensorAttribute name{#name};
#define SLUICE_BODY(name) static constexpr BodyAttribute name{#name};
#define SLUICE_REQUIRED_INT(name) SLUICE_INT(name, 0)
#define SLUICE_REQUIRED_STRING(name, words) SLUICE_STRING(name, "", words)
#define SLUICE_REQUIRED_INTS(name) SLUICE_INTS(name, 0)
#define SLUICE_REQUIRED_BODY(name) SLUICE_BODY(name)
#include "common/ops/attributes.def"

}  // namespace sluice::attributes
