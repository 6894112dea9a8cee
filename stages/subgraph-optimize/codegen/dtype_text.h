// The part of a specification's text that says the dtype of an operand.
#pragma once

#include <string>

#include "common/base/dtype.h"

namespace sluice {

// Returns nothing for f32, so that such kernels keep the names they had when there were no others.
std::string dtype_text(DType dtype);

}  // namespace sluice
