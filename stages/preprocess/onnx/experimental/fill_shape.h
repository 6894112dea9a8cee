// What the operators that fill a tensor share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// The shape of the result: attribute 'shape', or that of the input, or the input's elements where
// 'input_as_shape' is not 0; 'extra_shape' stands behind those of an input.
Result<Value*> fill_shape(ExpandCall& call);

}  // namespace sluice
