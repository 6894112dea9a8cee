// The quantized operators dequantize, compute and quantize with these parts.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns input `index`, whose scale and zero point (may be absent: 0) follow it, as real numbers.
Value* dequantized(ExpandCall& call, size_t index);
// Returns x quantized with the scale and zero point that are inputs `scale` and `scale` + 1; of the
// dtype of `like` where the zero point is absent.
Value* quantized(ExpandCall& call, Value* x, size_t scale, Value* like);

}  // namespace sluice
