// The shape shared by the operators that fill a tensor.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns the shape of the result: attribute 'shape', or that of the input, or the input's elements
// where 'input_as_shape' is not 0; 'extra_shape' is appended to that of an input.
Result<Value*> fill_shape(ExpandCall& call);

}  // namespace sluice
