// What the normalizations by root mean square share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// scale * x / sqrt(mean of x * x over the last axes + epsilon).
Value* rms_normalization(ExpandCall& call, Value* x, Value* scale, int64_t axis, float epsilon);
Value* mean_of(ExpandCall& call, Value* x, std::vector<int64_t> axes);  // the axes stay, of size 1
// 1 / sqrt(...) of it in f32, over the axes given.
Value* inverse_rms(ExpandCall& call, Value* x, std::vector<int64_t> axes, float epsilon);

}  // namespace sluice
