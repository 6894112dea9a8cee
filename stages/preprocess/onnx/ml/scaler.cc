// Scaler computes (X - offset) * scale, with one number for all columns or one for each, as f32.
#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using ScalerAttributes = ml_attributes::Scaler;

Result<void> expand_scaler(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* x = dtype_is_float(dtype) ? call.input(0) : call.cast(call.input(0), DType::kF32);
  const auto apply = [&](Op op, const FloatsAttribute& attribute) {
    if (call.has(attribute))
      x = call.add(op, {x, call.add(Op::kCastLike, {call.floats(call.get(attribute)), x})});
  };
  apply(Op::kSub, ScalerAttributes::offset);
  apply(Op::kMul, ScalerAttributes::scale);
  call.results[0] = call.cast(x, DType::kF32);
  return {};
}

}  // namespace sluice
