// The parts that normalizations share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns x as the dtype of its scale, which the result has (V beside T of x).
Value* as_scaled(ExpandCall& call, Value* x, const Value* scale);
// Returns scale * x / sqrt(mean of x * x over the last axes + epsilon).
Value* rms_normalization(ExpandCall& call, Value* x, Value* scale, int64_t axis, float epsilon);
Value* mean_of(ExpandCall& call, Value* x, std::vector<int64_t> axes);  // the axes stay, of size 1
// Returns 1 / sqrt(mean of x * x + epsilon) in f32, over the given axes.
Value* inverse_rms(ExpandCall& call, Value* x, std::vector<int64_t> axes, float epsilon);

}  // namespace sluice
