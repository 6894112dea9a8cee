// Binarizer returns 1 where an element is above the threshold, otherwise 0. An integer is above it
// where it is above the next lower integer.
#include <algorithm>
#include <cmath>

#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_binarizer(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const float threshold = call.get(ml_attributes::Binarizer::threshold);
  Value* x = call.input(0);
  Value* bound = nullptr;
  if (dtype_is_float(dtype)) {
    bound = call.number(threshold, x);
  } else {
    if (std::isnan(threshold)) return call.bad("attribute 'threshold' is no number");
    constexpr float kFar = 9.0e18f;  // beyond all i32, and all f32 below 2^63
    bound = call.int_scalar(static_cast<int64_t>(std::clamp(std::floor(threshold), -kFar, kFar)));
    x = call.cast(x, DType::kI64);
  }
  call.results[0] = call.cast(call.add(Op::kGreater, {x, bound}), dtype);
  return {};
}

}  // namespace sluice
