// Facts about a node that a user states and ONNX cannot express: metadata keys "sluice.<name>" and
// the rules of --annotate set fields of its Placement.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/placement.h"

namespace sluice {

// Sets the field that the annotation names from the text of its value. Errors: kBadValue, for an
// unknown name or a value that the field does not accept; the hint lists the known names.
Result<void> annotate(Placement& placement, std::string_view name, std::string_view value);

}  // namespace sluice
