// Scaler computes (X - offset) * scale, with one number for all columns or one for each, as f32.
#include "common/base/dtype.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_scaler(ExpandCall& call) {
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  Value* x = dtype_is_float(dtype) ? call.input(0) : call.cast(call.input(0), DType::kF32);
  const auto apply = [&](Op op, const char* name) {
    if (call.has(name))
      x = call.add(op, {x, call.add(Op::kCastLike, {call.floats(call.floats_attribute(name)), x})});
  };
  apply(Op::kSub, "offset");
  apply(Op::kMul, "scale");
  call.results[0] = call.cast(x, DType::kF32);
  return {};
}

}  // namespace sluice
