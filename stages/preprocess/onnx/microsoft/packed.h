// Constants of bytes that hold elements of fewer bits.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns a constant of bytes as one of [rows, columns] elements of fewer bits; null when it is not
// a constant of that size.
Value* retyped(ExpandCall& call, const Value& packed, DType dtype, int64_t rows, int64_t columns);

}  // namespace sluice
