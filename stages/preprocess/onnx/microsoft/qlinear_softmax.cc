// QLinearSoftmax is Softmax of quantized numbers, along one axis, or, as before opset 13, over all
// axes from it on.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"
#include "stages/preprocess/onnx/old_attributes.h"

namespace sluice {

using QLinearSoftmaxAttributes = microsoft_attributes::QLinearSoftmax;

Result<void> expand_qlinear_softmax(ExpandCall& call) {
  const bool flattens = call.get(QLinearSoftmaxAttributes::opset) < 13;
  const int64_t axis =
      call.get(flattens ? old_attributes::softmax_axis : QLinearSoftmaxAttributes::axis);
  Value* x = dequantized(call, 0);
  if (flattens) {
    Value* flat = call.add(Op::kFlatten, {x}, {{"axis", axis}});
    Value* result = call.add(Op::kSoftmax, {flat}, {{"axis", int64_t{-1}}});
    x = call.add(Op::kReshape, {result, call.add(Op::kShape, {x})}, {{"allowzero", int64_t{1}}});
  } else {
    x = call.add(Op::kSoftmax, {x}, {{"axis", axis}});
  }
  call.results[0] = quantized(call, x, 3, call.input(0));
  return {};
}

}  // namespace sluice
